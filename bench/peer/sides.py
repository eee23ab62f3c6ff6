"""The two sides, and what limits both: the same commands, each of which returns the nanoseconds that it took."""

import os
import struct
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import Final, Literal, Protocol

from bench.peer.files import config_of
from logstore.isolation import Isolation
from logstore.log import Log
from logstore.root_checkpoints import PartitionCheckpoints
from tests.oracle.kafka import JavaProgram

_OFFSET: Final = struct.Struct(">q")
_LENGTH: Final = struct.Struct(">i")

Clock = Literal["wall", "processor"]
CLOCKS: Final[dict[Clock, Callable[[], int]]] = {"wall": time.perf_counter_ns, "processor": time.thread_time_ns}
"""Processor time is that of the thread alone: what there is to go by on a machine that others use too."""


class Side(Protocol):
    """Who holds one log at a time."""

    name: str

    def load_batches(self, path: Path, call_bytes: int) -> None:
        """Take what is to be appended, in calls of so many bytes."""

    def load_queries(self, path: Path) -> None:
        """Take the offsets and timestamps to look for in the open log."""

    def open(self, directory: Path, segment_bytes: int, *, clean: bool) -> int:
        """Open a log, closed in order or as after a crash."""

    def close(self) -> None:
        """Close it in order."""

    def crash(self) -> None:
        """Let go of it."""

    def follow(self, calls: int) -> int:
        """Append as a follower."""

    def lead(self, calls: int) -> int:
        """Append as the leader, one batch a call."""

    def read(self, max_bytes: int) -> int:
        """Find the bytes for each offset, and leave them where they are."""

    def read_stable(self, max_bytes: int) -> int:
        """Do so up to the high watermark."""

    def read_into(self, max_bytes: int) -> int:
        """Do so, and copy them to one buffer."""

    def find(self) -> int:
        """Look for each timestamp."""

    def truncate(self, offset: int) -> int:
        """Cut the log."""


class Calls:
    """What is appended, over and over, call by call."""

    def __init__(self, path: Path, call_bytes: int) -> None:
        data = path.read_bytes()
        self.data = [bytearray(data[start : start + call_bytes]) for start in range(0, len(data), call_bytes)]
        self.batches = list(_batches(self.data[0]))

    def numbered(self, calls: int, offset: int) -> "zip[tuple[int, bytearray]]":
        """Give so many calls with the offset that each ends at."""
        return zip(range(offset, 2**63, self.records), islice(cycle(self.data), calls), strict=False)

    @property
    def records(self) -> int:
        """In a call."""
        return sum(records for _, records in self.batches)

    def number(self, call: bytearray, offset: int) -> None:
        """Let the batches of a call begin at `offset`."""
        for position, records in self.batches:
            _OFFSET.pack_into(call, position, offset)
            offset += records


def _batches(call: bytearray) -> "list[tuple[int, int]]":
    """Return position and record count of each batch."""
    found, position = [], 0
    while position < len(call):
        found.append((position, _LENGTH.unpack_from(call, position + 57)[0]))
        position += 12 + int(_LENGTH.unpack_from(call, position + 8)[0])
    return found


class BareWrite:
    """No log: only `write()` of the same bytes."""

    name = "write()"

    def __init__(self, clock: Clock) -> None:
        self._now = CLOCKS[clock]
        self._calls: Calls | None = None

    def load_batches(self, path: Path, call_bytes: int) -> None:
        self._calls = Calls(path, call_bytes)

    def follow(self, path: Path, calls: int) -> int:
        """Write to a new file."""
        now = self._now
        assert self._calls is not None
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        spent = 0
        for offset, call in self._calls.numbered(calls, 0):
            self._calls.number(call, offset)
            start = now()
            os.write(descriptor, call)
            spent += now() - start
        os.close(descriptor)
        return spent


class Ours:
    """Our log."""

    name = "epochlog"

    def __init__(self, clock: Clock) -> None:
        self._now = CLOCKS[clock]
        self._log: Log | None = None
        self._calls: Calls | None = None
        self._offsets: tuple[int, ...] = ()
        self._timestamps: tuple[int, ...] = ()
        self._target = memoryview(bytearray(2 << 20))

    @property
    def log(self) -> Log:
        """The open one."""
        assert self._log is not None
        return self._log

    def load_batches(self, path: Path, call_bytes: int) -> None:
        self._calls = Calls(path, call_bytes)

    def load_queries(self, path: Path) -> None:
        data = path.read_bytes()
        queries = struct.unpack(f">{len(data) // 8}q", data)
        self._offsets, self._timestamps = queries[: len(queries) // 2], queries[len(queries) // 2 :]
        self.log.update_high_watermark(self.log.log_end_offset)

    def open(self, directory: Path, segment_bytes: int, *, clean: bool) -> int:
        now = self._now
        config = config_of(segment_bytes)
        checkpoints = PartitionCheckpoints(recovery_point=0, log_start_offset=0, clean_shutdown=clean)
        start = now()
        self._log = Log.open(directory, config, checkpoints=checkpoints)
        return now() - start

    def close(self) -> None:
        self.log.close()

    def crash(self) -> None:
        self.log.abandon()

    def follow(self, calls: int) -> int:
        now = self._now
        log = self.log
        assert self._calls is not None
        spent = 0
        for offset, call in self._calls.numbered(calls, log.log_end_offset):
            self._calls.number(call, offset)
            start = now()
            log.append_batches(call)
            spent += now() - start
        return spent

    def lead(self, calls: int) -> int:
        now = self._now
        log = self.log
        assert self._calls is not None
        spent = 0
        for _, call in self._calls.numbered(calls, 0):
            self._calls.number(call, 0)
            start = now()
            log.append(call, leader_epoch=0)
            spent += now() - start
        return spent

    def read(self, max_bytes: int) -> int:
        now = self._now
        read = self.log.read
        start = now()
        for offset in self._offsets:
            read(offset, max_bytes)
        return now() - start

    def read_stable(self, max_bytes: int) -> int:
        now = self._now
        read = self.log.read
        start = now()
        for offset in self._offsets:
            read(offset, max_bytes, isolation=Isolation.HIGH_WATERMARK)
        return now() - start

    def read_into(self, max_bytes: int) -> int:
        now = self._now
        read, target = self.log.read, self._target
        start = now()
        for offset in self._offsets:
            data = read(offset, max_bytes).data
            target[: len(data)] = data
        return now() - start

    def find(self) -> int:
        now = self._now
        find = self.log.offset_for_timestamp
        start = now()
        for timestamp in self._timestamps:
            find(timestamp)
        return now() - start

    def truncate(self, offset: int) -> int:
        now = self._now
        start = now()
        self.log.truncate_to(offset)
        return now() - start


class Kafka:
    """Kafka's log, in a JVM that is told by lines what to do: it measures by itself."""

    name = "Kafka"

    def __init__(self, program: JavaProgram, clock: Clock) -> None:
        self._program = program
        self._ask("clock", clock)

    def _ask(self, *words: object) -> int:
        [answer] = self._program.ask(" ".join(map(str, words)))
        return int(answer)

    def load_batches(self, path: Path, call_bytes: int) -> None:
        self._ask("batches", path, call_bytes)

    def load_queries(self, path: Path) -> None:
        self._ask("queries", path)

    def open(self, directory: Path, segment_bytes: int, *, clean: bool) -> int:
        directory.mkdir(parents=True, exist_ok=True)
        return self._ask("open", directory, segment_bytes, str(clean).lower())

    def close(self) -> None:
        self._ask("close")

    def crash(self) -> None:
        self._ask("crash")

    def follow(self, calls: int) -> int:
        return self._ask("follow", calls)

    def lead(self, calls: int) -> int:
        return self._ask("lead", calls)

    def read(self, max_bytes: int) -> int:
        return self._ask("read", max_bytes)

    def read_stable(self, max_bytes: int) -> int:
        return self._ask("readStable", max_bytes)

    def read_into(self, max_bytes: int) -> int:
        return self._ask("readInto", max_bytes)

    def find(self) -> int:
        return self._ask("find")

    def truncate(self, offset: int) -> int:
        return self._ask("truncate", offset)
