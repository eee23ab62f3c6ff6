"""What is measured, in turn on both sides: one method for each kind of work."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from bench.peer.files import (
    LARGE_BATCH,
    SMALL_BATCH,
    clone,
    crashed,
    write_batches,
    write_log,
    write_queries,
)
from bench.peer.sides import CLOCKS, BareWrite, Clock, Kafka, Ours, Side
from logstore.kernels.recover import RecoveryColumns, new_state, recover
from logstore.log_file import LogFile
from tests.oracle.kafka import JavaProgram

GROUPS: Final = {"one batch of 16 KiB": (SMALL_BATCH, 1), "32 of 16 KiB": (SMALL_BATCH, 32), "1 MiB": (LARGE_BATCH, 1)}
SEGMENTS: Final = 16
QUERIES: Final = 2_000
OPENINGS: Final = 5
ONE_SEGMENT: Final = 1 << 30
WARM_UP_ROUNDS: Final = 2


@dataclass
class Row:
    """One kind of work: nanoseconds an operation, by side, and what counts as one."""

    name: str
    times: dict[str, list[float]] = field(default_factory=dict)
    bytes: int = 0
    """Of one operation, where throughput is what matters."""

    def median(self, side: str) -> float | None:
        """Nanoseconds an operation."""
        return median(self.times[side]) if side in self.times else None


class Comparison:
    """One run over all kinds of work, with logs of `size` bytes."""

    def __init__(
        self,
        program: JavaProgram,
        work: Path,
        size: int,
        rounds: int,
        *,
        warm_up: int = WARM_UP_ROUNDS,
        clock: Clock = "wall",
    ) -> None:
        self._sides: tuple[Side, ...] = (Ours(clock), Kafka(program, clock))
        self._bare = BareWrite(clock)
        self._now = CLOCKS[clock]
        self._sources: dict[int, tuple[Path, int]] = {}
        self._work = work
        self._size = size
        self._rounds = rounds
        self._warm_up = warm_up

    def works(self) -> dict[str, Callable[[str], Row]]:
        """Return all kinds of work by name, for whoever wants their rows."""
        works: dict[str, Callable[[str], Row]] = {}
        for name, (batch_bytes, at_once) in GROUPS.items():
            works[f"append as follower, {name} a call"] = partial(self._append, batch_bytes, at_once, lead=False)
        works["append as leader, one batch of 16 KiB"] = partial(self._append, SMALL_BATCH, 1, lead=True)
        works["append as leader, one batch of 1 MiB"] = partial(self._append, LARGE_BATCH, 1, lead=True)
        works["recover after a crash, fresh mapping"] = partial(self._recovery, touched=False)
        works["recover after a crash, touched mapping"] = partial(self._recovery, touched=True)
        works |= {name: partial(self._reading, read) for name, read in _READS.items()}
        works["open after a clean stop, one segment"] = partial(self._opening, 1)
        works[f"open after a clean stop, {SEGMENTS} segments"] = partial(self._opening, SEGMENTS)
        works["truncate to the middle"] = partial(self._truncation, 2)
        works["truncate within the last segment"] = partial(self._truncation, 1)
        return works

    def _in_turn(self, row: Row, measure: Callable[[Side], float], write: Callable[[], float] | None = None) -> Row:
        """Measure round by round, each side first in turn; the first rounds only warm up."""
        for number in range(self._warm_up + self._rounds):
            times = {side.name: measure(side) for side in self._sides[:: 1 if number % 2 else -1]}
            if write is not None:
                times[BareWrite.name] = write()
            for side, spent in times.items() if number >= self._warm_up else ():
                row.times.setdefault(side, []).append(spent)
        return row

    def _place(self, side: Side) -> Path:
        return self._work / side.name.lower() / "t-0"

    def _source(self, segments: int) -> tuple[Path, int]:
        """Return a log that was closed in order, and where it ends."""
        if segments not in self._sources:
            directory = self._work / f"source-{segments}" / "t-0"
            self._sources[segments] = directory, write_log(directory, self._size, self._size // segments)
        return self._sources[segments]

    def _append(self, batch_bytes: int, at_once: int, name: str, *, lead: bool) -> Row:
        path = self._work / "batches"
        call_bytes = write_batches(path, batch_bytes, at_once)
        calls = max(self._size // call_bytes, 1)
        row = Row(name, bytes=call_bytes)
        for side in (self._bare, *self._sides):
            side.load_batches(path, call_bytes)

        def measure(side: Side) -> float:
            directory = self._place(side)
            directory.parent.mkdir()
            side.open(directory, ONE_SEGMENT, clean=True)
            spent = side.lead(calls) if lead else side.follow(calls)
            side.crash()
            shutil.rmtree(directory.parent)
            return spent / calls

        def write() -> float:
            file = self._work / "bare"
            spent = self._bare.follow(file, calls)
            file.unlink()
            return spent / calls

        return self._in_turn(row, measure, write)

    def _recovery(self, name: str, *, touched: bool) -> Row:
        source, _ = self._source(1)
        [log] = source.glob("*.log")
        with LogFile.open(log) as file:

            def measure(side: Side) -> float:
                if touched and isinstance(side, Ours):
                    return self._recovery_pass(file)
                spent = side.open(crashed(source, self._place(side)), ONE_SEGMENT, clean=False)
                side.crash()
                shutil.rmtree(self._place(side).parent)
                return spent

            return self._in_turn(Row(name, bytes=log.stat().st_size), measure)

    def _recovery_pass(self, file: LogFile) -> int:
        data: np.ndarray[tuple[int], np.dtype[np.uint8]] = file.array
        state, columns = new_state(0), RecoveryColumns()
        start = self._now()
        while recover(data, len(data), base_offset=0, interval=4_096, state=state, columns=columns) == 1:
            pass
        return self._now() - start

    def _reading(self, read: Callable[[Side], int], name: str) -> Row:
        source, end = self._source(1)
        queries = self._work / "queries"
        write_queries(queries, end, QUERIES)
        for side in self._sides:
            side.open(clone(source, self._place(side)), ONE_SEGMENT, clean=True)
            side.load_queries(queries)
        row = self._in_turn(Row(name), lambda side: read(side) / QUERIES)
        for side in self._sides:
            side.close()
            shutil.rmtree(self._place(side).parent)
        return row

    def _opening(self, segments: int, name: str) -> Row:
        source, _ = self._source(segments)
        segment_bytes = self._size // segments
        for side in self._sides:
            side.open(clone(source, self._place(side)), segment_bytes, clean=True)
            side.close()

        def measure(side: Side) -> float:
            spent = 0
            for _ in range(OPENINGS):
                spent += side.open(self._place(side), segment_bytes, clean=True)
                side.close()
            return spent / OPENINGS

        row = self._in_turn(Row(name), measure)
        for side in self._sides:
            shutil.rmtree(self._place(side).parent)
        return row

    def _truncation(self, part: int, name: str) -> Row:
        source, end = self._source(SEGMENTS)
        offset = end - end // 2 if part == 2 else end - 1_000

        def measure(side: Side) -> float:
            directory = clone(source, self._place(side), cut_at=offset)
            side.open(directory, self._size // SEGMENTS, clean=True)
            os.sync()
            spent = side.truncate(offset)
            side.crash()
            shutil.rmtree(directory.parent)
            return spent

        return self._in_turn(Row(name), measure)


_READS: Final[dict[str, Callable[[Side], int]]] = {
    "read at a random offset, up to 16 KiB": lambda side: side.read(16 << 10),
    "read at a random offset, up to 1 MiB": lambda side: side.read(1 << 20),
    "the same, up to the high watermark": lambda side: side.read_stable(1 << 20),
    "read and copy up to 16 KiB": lambda side: side.read_into(16 << 10),
    "read and copy up to 1 MiB": lambda side: side.read_into(1 << 20),
    "offset for timestamp": lambda side: side.find(),
}
