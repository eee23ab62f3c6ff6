"""What one log does: append, recover, read, open, truncate."""

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from bench.peer.files import LARGE_BATCH, ONE_SEGMENT, SMALL_BATCH, Logs, clone, crashed, write_batches, write_queries
from bench.peer.kafka_timer import KafkaTimer
from bench.peer.log_sides import BareWrite, Kafka, Ours, Side
from bench.peer.turns import Settings, Timed, agree, take_turns
from bench.results import Row
from logstore.batch.compression.codec import Codec
from logstore.kernels.recover import recover
from logstore.kernels.recovery_state import RecoveryColumns, Slot, new_state
from logstore.log.reading.isolation import Isolation
from logstore.offline.log_file import LogFile
from logstore.topic_partition import TopicPartition

TINY_BATCH: Final = 1 << 10
GROUPS: Final = {
    "one batch of 1 KiB": (TINY_BATCH, 1),
    "32 of 1 KiB": (TINY_BATCH, 32),
    "one batch of 16 KiB": (SMALL_BATCH, 1),
    "32 of 16 KiB": (SMALL_BATCH, 32),
    "1 MiB": (LARGE_BATCH, 1),
}
BATCHES: Final = {
    "one batch of 1 KiB": TINY_BATCH,
    "one batch of 16 KiB": SMALL_BATCH,
    "one batch of 1 MiB": LARGE_BATCH,
}
CODECS: Final = (Codec.LZ4, Codec.ZSTD)
READS: Final = {
    "read at a random offset, up to 16 KiB": (16 << 10, Isolation.LOG_END),
    "read at a random offset, up to 1 MiB": (1 << 20, Isolation.LOG_END),
    "the same, up to the high watermark": (1 << 20, Isolation.HIGH_WATERMARK),
}
COPIES: Final = {"read and copy up to 16 KiB": 16 << 10, "read and copy up to 1 MiB": 1 << 20}
SEGMENTS: Final = 16
QUERIES: Final = 2_000
OPENINGS: Final = 5
PARTITIONS: Final = 32


class LogWorks:
    """All that is measured on an open log, with logs of `settings.size` bytes."""

    group = "log"
    timer = "LogTimer"

    def __init__(self, settings: Settings, logs: Logs, kafka: KafkaTimer | None) -> None:
        self._settings = settings
        self._logs = logs
        self._ours = Ours(settings)
        self._sides: list[Side] = [self._ours]
        if kafka is not None:
            self._sides.append(Kafka(kafka))
        self._bare = BareWrite(settings)

    def works(self) -> dict[str, Callable[[str], Row]]:
        """Return all kinds of work by name, for whoever wants their rows."""
        works: dict[str, Callable[[str], Row]] = {}
        for name, (batch_bytes, at_once) in GROUPS.items():
            works[f"append as follower, {name} a call"] = partial(self._append, batch_bytes, at_once, lead=False)
        for name, batch_bytes in BATCHES.items():
            works[f"append as leader, {name}"] = partial(self._append, batch_bytes, 1, lead=True)
        for codec in CODECS:
            packed = f"one batch of 16 KiB, {codec.name.lower()}"
            works[f"append as follower, {packed}"] = partial(self._append, SMALL_BATCH, 1, lead=False, codec=codec)
            works[f"append as leader, {packed}"] = partial(self._append, SMALL_BATCH, 1, lead=True, codec=codec)
        works[f"append as follower to {PARTITIONS} partitions in one call, 1 KiB each"] = self._append_to_all
        works["recover after a crash, fresh mapping"] = self._recovery
        works["recover after a crash, touched mapping"] = self._recovery_when_touched
        works["recover two logs after a crash, two threads, fresh mappings"] = self._recovery_in_threads
        works |= {name: partial(self._reading, *how) for name, how in READS.items()}
        works |= {name: partial(self._copying, max_bytes) for name, max_bytes in COPIES.items()}
        works["offset for timestamp"] = partial(self._asked, ask=lambda side: side.find())
        works["open after a clean stop, one segment"] = partial(self._opening, 1)
        works[f"open after a clean stop, {SEGMENTS} segments"] = partial(self._opening, SEGMENTS)
        works["truncate to the middle"] = partial(self._truncation, 2)
        works["truncate within the last segment"] = partial(self._truncation, 1)
        return works

    def _in_turn(self, row: Row, measure: Callable[[Side], Timed], **others: Callable[[], Timed]) -> Row:
        sides = {side.name: partial(measure, side) for side in self._sides}
        return take_turns(row, sides | others, self._settings)

    def _place(self, side: Side, name: str = "own") -> Path:
        return self._settings.work / f"{side.name.lower()}-{name}" / "t-0"

    def _source(self, segments: int) -> tuple[Path, int]:
        """Return a log that was closed in order, and where it ends."""
        if segments == 1:
            path, end = self._logs.segment(self._settings.size)
            return path.parent, end
        return self._logs.log(f"segments-{segments}", self._settings.size, self._settings.size // segments)

    def _append(self, batch_bytes: int, at_once: int, name: str, *, lead: bool, codec: Codec = Codec.NONE) -> Row:
        path = self._settings.work / "batches"
        call_bytes = write_batches(path, batch_bytes, at_once, codec)
        most = self._settings.calls // (1 if codec is Codec.NONE else 4)
        calls = min(max(self._settings.size // call_bytes, 1), most)
        self._bare.load_batches(path, call_bytes)
        for side in self._sides:
            side.load_batches(path, call_bytes)

        def measure(side: Side) -> Timed:
            directory = self._place(side)
            directory.parent.mkdir()
            side.open(directory, ONE_SEGMENT, clean=True)
            timed = side.lead(calls) if lead else side.follow(calls)
            side.crash()
            shutil.rmtree(directory.parent)
            return timed

        row = Row(name, bytes=call_bytes, items=at_once, unit="batches", group=self.group)
        return self._in_turn(row, measure, **{self._bare.name: partial(self._bare.follow, calls)})

    def _append_to_all(self, name: str) -> Row:
        """One batch to each of many partitions, as the answer to a follower's fetch has them."""
        path = self._settings.work / "batches"
        call_bytes = write_batches(path, TINY_BATCH, 1)
        rounds = min(max(self._settings.size // call_bytes, 1), self._settings.calls) // PARTITIONS
        partitions = [TopicPartition("t", number) for number in range(PARTITIONS)]
        for side in self._sides:
            side.load_batches(path, call_bytes)

        def measure(side: Side) -> Timed:
            root = self._place(side).parent
            timed = side.follow_all(root, partitions, ONE_SEGMENT, max(rounds, 1))
            shutil.rmtree(root)
            return timed

        row = Row(name, bytes=PARTITIONS * call_bytes, items=PARTITIONS, unit="batches", group=self.group)
        return self._in_turn(row, measure)

    def _recovered(self, name: str, size: int) -> Row:
        return Row(name, bytes=size, group=self.group)

    def _recovery(self, name: str) -> Row:
        source, _ = self._source(1)

        def measure(side: Side) -> Timed:
            timed = side.open(crashed(source, self._place(side)), ONE_SEGMENT, clean=False)
            side.crash()
            shutil.rmtree(self._place(side).parent)
            return timed

        return self._in_turn(self._recovered(name, _log_bytes(source)), measure)

    def _recovery_when_touched(self, name: str) -> Row:
        """Go over a mapping that was read before; Kafka maps no logs, and reads them as ever."""
        source, _ = self._source(1)
        [path] = source.glob("*.log")
        row = self._recovered(name, path.stat().st_size)
        with LogFile.open(path) as file:
            data = file.array

            def measure(side: Side) -> Timed:
                if isinstance(side, Ours):
                    spent, last_offset = self._settings.time(lambda: _recovery_pass(data))
                    return Timed(spent, last_offset + 1)
                timed = side.open(crashed(source, self._place(side)), ONE_SEGMENT, clean=False)
                side.crash()
                return timed

            self._in_turn(row, measure)
        self._remove_places()
        return row

    def _recovery_in_threads(self, name: str) -> Row:
        """Two logs of half the size, each in a thread of its own."""
        half = self._settings.size // 2
        sources = {number: self._logs.log(f"half-{number}", half, ONE_SEGMENT)[0] for number in ("first", "second")}

        def measure(side: Side) -> Timed:
            directories = [crashed(source, self._place(side, number)) for number, source in sources.items()]
            timed = side.recover(directories, ONE_SEGMENT)
            for directory in directories:
                shutil.rmtree(directory.parent)
            return timed

        row = self._recovered(name, sum(map(_log_bytes, sources.values())))
        if self._settings.clock != "wall":
            row.skipped = "what several threads do is measured by wall time"
            return row
        return self._in_turn(row, measure)

    def _remove_places(self) -> None:
        for side in self._sides:
            shutil.rmtree(self._place(side).parent, ignore_errors=True)

    def _reading(self, max_bytes: int, isolation: Isolation, name: str) -> Row:
        return self._asked(name, lambda side: side.read(max_bytes, isolation), max_bytes, isolation)

    def _copying(self, max_bytes: int, name: str) -> Row:
        return self._asked(name, lambda side: side.read_into(max_bytes), max_bytes)

    def _asked(
        self,
        name: str,
        ask: Callable[[Side], Timed],
        max_bytes: int = SMALL_BATCH,
        isolation: Isolation = Isolation.LOG_END,
    ) -> Row:
        """Open the same log on each side and ask it; reads of so many bytes find the same on both sides."""
        source, end = self._source(1)
        queries = self._settings.work / "queries"
        write_queries(queries, end, QUERIES)
        for side in self._sides:
            side.open(clone(source, self._place(side)), ONE_SEGMENT, clean=True)
            side.load_queries(queries)
        agree(name, {side.name: side.whole(max_bytes, isolation) for side in self._sides})
        row = self._in_turn(Row(name, group=self.group), ask)
        for side in self._sides:
            side.close()
        self._remove_places()
        return row

    def _opening(self, segments: int, name: str) -> Row:
        source, _ = self._source(segments)
        segment_bytes = ONE_SEGMENT if segments == 1 else self._settings.size // segments
        for side in self._sides:
            side.open(clone(source, self._place(side)), segment_bytes, clean=True)
            side.close()

        def measure(side: Side) -> Timed:
            spent = 0.0
            for _ in range(OPENINGS):
                timed = side.open(self._place(side), segment_bytes, clean=True)
                spent += timed.nanoseconds
                side.close()
            return timed._replace(nanoseconds=spent / OPENINGS)

        row = self._in_turn(Row(name, group=self.group), measure)
        self._remove_places()
        return row

    def _truncation(self, part: int, name: str) -> Row:
        source, end = self._source(SEGMENTS)
        offset = end - end // 2 if part == 2 else end - 1_000

        def measure(side: Side) -> Timed:
            directory = clone(source, self._place(side), cut_at=offset)
            side.open(directory, self._settings.size // SEGMENTS, clean=True)
            os.sync()
            timed = side.truncate(offset)
            side.crash()
            shutil.rmtree(directory.parent)
            return timed

        return self._in_turn(Row(name, group=self.group), measure)


def _log_bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("*.log"))


def _recovery_pass(data: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> int:
    """Go over a log as recovery does, without opening it; return the last offset."""
    state, columns = new_state(0), RecoveryColumns()
    while recover(data, len(data), base_offset=0, interval=4_096, state=state, columns=columns) == 1:
        pass
    return int(state[Slot.LAST_OFFSET])
