"""Who holds one log at a time: the same commands on both sides. And what limits both, bare `write()`."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from struct import Struct
from typing import Final, Protocol

import numpy as np

from bench.peer.files import config_of
from bench.peer.kafka_timer import KafkaTimer
from bench.peer.turns import CLOCKS, Settings, Timed
from bench.results import KAFKA, OURS
from logstore.directory.log_directory import LogDirectory
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.log.log import Log
from logstore.log.reading.isolation import Isolation
from logstore.topic_partition import TopicPartition

_OFFSET: Final = Struct(">q")
_LENGTH: Final = Struct(">i")
ISOLATIONS: Final = {Isolation.LOG_END: "LOG_END", Isolation.HIGH_WATERMARK: "HIGH_WATERMARK"}
"""As Kafka's FetchIsolation names them."""


class Side(Protocol):
    """Who holds one log at a time. Times are those of one operation; answers are the log's end unless said."""

    name: str

    def load_batches(self, path: Path, call_bytes: int) -> None:
        """Prepare what is to be appended, in calls of so many bytes."""

    def load_queries(self, path: Path) -> None:
        """Prepare the offsets and timestamps to look for in the open log."""

    def open(self, directory: Path, segment_bytes: int, *, clean: bool) -> Timed:
        """Open a log, closed in order or as after a crash."""

    def recover(self, directories: list[Path], segment_bytes: int) -> Timed:
        """Open logs as after a crash, all at once in as many threads, and let go of them: the sum of their ends."""

    def close(self) -> None:
        """Close the log in order."""

    def crash(self) -> None:
        """Close it."""

    def follow(self, calls: int) -> Timed:
        """Append as a follower: the log's end and its size in bytes, added."""

    def follow_all(self, root: Path, partitions: list[TopicPartition], segment_bytes: int, rounds: int) -> Timed:
        """Append to new logs as a follower, a call's bytes to each in one go: their ends and sizes, added."""

    def lead(self, calls: int) -> Timed:
        """Append as the leader, one batch a call: the same answer."""

    def read(self, max_bytes: int, isolation: Isolation) -> Timed:
        """Find the bytes for each offset, and leave them where they are: no answer."""

    def read_into(self, max_bytes: int) -> Timed:
        """Find the bytes for each offset, and copy them to one buffer: no answer."""

    def whole(self, max_bytes: int, isolation: Isolation) -> int:
        """Add up base offsets and sizes of all whole batches that these reads find: Kafka ends within a batch."""

    def find(self) -> Timed:
        """Look for each timestamp: the sum of their offsets."""

    def truncate(self, offset: int) -> Timed:
        """Cut the log."""


class Calls:
    """What is appended, over and over, call by call."""

    def __init__(self, path: Path, call_bytes: int) -> None:
        data = path.read_bytes()
        self._data = [bytearray(data[start : start + call_bytes]) for start in range(0, len(data), call_bytes)]
        self._batches = list(_batches(self._data[0]))
        self._records = sum(records for _, records in self._batches)

    def following(self, calls: int, offset: int) -> Iterator[bytearray]:
        """Give so many calls, each numbered to follow the one before, the first from `offset` on."""
        for call in islice(cycle(self._data), calls):
            self.number(call, offset)
            offset += self._records
            yield call

    def number(self, call: bytearray, offset: int) -> None:
        """Make the batches of a call begin at `offset`."""
        for position, records in self._batches:
            _OFFSET.pack_into(call, position, offset)
            offset += records

    def to_each(self, partitions: list[TopicPartition], offsets: list[int]) -> dict[TopicPartition, bytearray]:
        """Give a call to each partition, numbered from its offset on."""
        given = dict(zip(partitions, self._data, strict=False))
        for call, offset in zip(given.values(), offsets, strict=True):
            self.number(call, offset)
        return given

    def produced(self, calls: int) -> Iterator[bytearray]:
        """Give so many calls as a producer sends them."""
        for call in islice(cycle(self._data), calls):
            self.number(call, 0)
            yield call


def _batches(call: bytearray) -> Iterator[tuple[int, int]]:
    """Give position and record count of each batch."""
    position = 0
    while position < len(call):
        yield position, _LENGTH.unpack_from(call, position + 57)[0]
        position += 12 + int(_LENGTH.unpack_from(call, position + 8)[0])


class BareWrite:
    """No log: only `write()` of the same bytes."""

    name = "write()"

    def __init__(self, settings: Settings) -> None:
        self._now = CLOCKS[settings.clock]
        self._file = settings.work / "bare"
        self._calls: Calls

    def load_batches(self, path: Path, call_bytes: int) -> None:
        self._calls = Calls(path, call_bytes)

    def follow(self, calls: int) -> Timed:
        """Write to a new file."""
        now = self._now
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        spent = 0
        for call in self._calls.following(calls, 0):
            start = now()
            os.write(descriptor, call)
            spent += now() - start
        os.close(descriptor)
        self._file.unlink()
        return Timed(spent / calls)


class Ours:
    """Our log."""

    name = OURS

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._now = CLOCKS[settings.clock]
        self._offsets: list[int] = []
        self._timestamps: list[int] = []
        self._target = memoryview(bytearray(2 << 20))
        self._log: Log
        self._calls: Calls

    def load_batches(self, path: Path, call_bytes: int) -> None:
        self._calls = Calls(path, call_bytes)

    def load_queries(self, path: Path) -> None:
        numbers = np.fromfile(path, ">i8").tolist()
        self._offsets, self._timestamps = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
        self._log.update_high_watermark(self._log.log_end_offset)

    def open(self, directory: Path, segment_bytes: int, *, clean: bool) -> Timed:
        spent, self._log = self._settings.time(lambda: _open(directory, segment_bytes, clean=clean))
        return Timed(spent, self._log.log_end_offset)

    def recover(self, directories: list[Path], segment_bytes: int) -> Timed:
        with ThreadPoolExecutor(len(directories)) as threads:
            spent, logs = self._settings.time(
                lambda: list(threads.map(lambda each: _open(each, segment_bytes, clean=False), directories))
            )
        for log in logs:
            log.abandon()
        return Timed(spent, sum(log.log_end_offset for log in logs))

    def close(self) -> None:
        self._log.close()

    def crash(self) -> None:
        self._log.abandon()

    def follow(self, calls: int) -> Timed:
        now = self._now
        log = self._log
        spent = 0
        for call in self._calls.following(calls, log.log_end_offset):
            start = now()
            log.append_batches(call)
            spent += now() - start
        return Timed(spent / calls, log.log_end_offset + log.size)

    def follow_all(self, root: Path, partitions: list[TopicPartition], segment_bytes: int, rounds: int) -> Timed:
        now = self._now
        spent = 0
        with LogDirectory.open(root, config_of(segment_bytes)) as directory:
            logs = [directory.create(partition) for partition in partitions]
            for _ in range(rounds):
                batches = self._calls.to_each(partitions, [log.log_end_offset for log in logs])
                start = now()
                directory.append_batches(batches)
                spent += now() - start
            ends = sum(log.log_end_offset + log.size for log in logs)
            directory.abandon()
        return Timed(spent / rounds, ends)

    def lead(self, calls: int) -> Timed:
        now = self._now
        log = self._log
        spent = 0
        for call in self._calls.produced(calls):
            start = now()
            log.append(call, leader_epoch=0)
            spent += now() - start
        return Timed(spent / calls, log.log_end_offset + log.size)

    def read(self, max_bytes: int, isolation: Isolation) -> Timed:
        now = self._now
        read = self._log.read
        start = now()
        for offset in self._offsets:
            read(offset, max_bytes, isolation=isolation)
        return Timed((now() - start) / len(self._offsets))

    def read_into(self, max_bytes: int) -> Timed:
        now = self._now
        read, target = self._log.read, self._target
        start = now()
        for offset in self._offsets:
            data = read(offset, max_bytes).data
            target[: len(data)] = data
        return Timed((now() - start) / len(self._offsets))

    def whole(self, max_bytes: int, isolation: Isolation) -> int:
        views = (self._log.read(offset, max_bytes, isolation=isolation) for offset in self._offsets)
        return sum(batch.size + batch.base_offset for view in views for batch in view.batches())

    def find(self) -> Timed:
        find, timestamps = self._log.offset_for_timestamp, self._timestamps
        spent, found = self._settings.time(lambda: [find(timestamp) for timestamp in timestamps])
        return Timed(spent / len(timestamps), sum(each.offset for each in found if each is not None))

    def truncate(self, offset: int) -> Timed:
        spent, _ = self._settings.time(lambda: self._log.truncate_to(offset))
        return Timed(spent, self._log.log_end_offset)


def _open(directory: Path, segment_bytes: int, *, clean: bool) -> Log:
    checkpoints = PartitionCheckpoints(recovery_point=0, log_start_offset=0, clean_shutdown=clean)
    return Log.open(directory, config_of(segment_bytes), checkpoints=checkpoints)


class Kafka:
    """Kafka's log."""

    name = KAFKA

    def __init__(self, timer: KafkaTimer) -> None:
        self._timer = timer
        self._queries = 1

    def load_batches(self, path: Path, call_bytes: int) -> None:
        self._timer.ask("batches", path, call_bytes)

    def load_queries(self, path: Path) -> None:
        self._timer.ask("queries", path)
        self._queries = path.stat().st_size // 16

    def open(self, directory: Path, segment_bytes: int, *, clean: bool) -> Timed:
        directory.mkdir(parents=True, exist_ok=True)
        return self._timer.ask("open", directory, segment_bytes, str(clean).lower())

    def recover(self, directories: list[Path], segment_bytes: int) -> Timed:
        return self._timer.ask("recover", segment_bytes, *directories)

    def close(self) -> None:
        self._timer.ask("close")

    def crash(self) -> None:
        self._timer.ask("crash")

    def follow(self, calls: int) -> Timed:
        return self._timer.ask("follow", calls, operations=calls)

    def follow_all(self, root: Path, partitions: list[TopicPartition], segment_bytes: int, rounds: int) -> Timed:
        directories = [root / str(partition) for partition in partitions]
        for directory in directories:
            directory.mkdir(parents=True)
        self._timer.ask("openAll", segment_bytes, *directories)
        timed = self._timer.ask("followAll", rounds, operations=rounds)
        self._timer.ask("crashAll")
        return timed

    def lead(self, calls: int) -> Timed:
        return self._timer.ask("lead", calls, operations=calls)

    def read(self, max_bytes: int, isolation: Isolation) -> Timed:
        return self._reads("read", max_bytes, ISOLATIONS[isolation])

    def read_into(self, max_bytes: int) -> Timed:
        return self._reads("readInto", max_bytes)

    def whole(self, max_bytes: int, isolation: Isolation) -> int:
        return self._timer.ask("whole", max_bytes, ISOLATIONS[isolation]).answer or 0

    def find(self) -> Timed:
        return self._timer.ask("find", operations=self._queries)

    def truncate(self, offset: int) -> Timed:
        return self._timer.ask("truncate", offset)

    def _reads(self, *words: object) -> Timed:
        return self._timer.ask(*words, operations=self._queries)._replace(answer=None)
