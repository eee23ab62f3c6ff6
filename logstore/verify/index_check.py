"""The offset and time indexes point at the batches that they were made from."""

from collections.abc import Iterator
from typing import ClassVar, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from logstore.errors import LogStoreError
from logstore.file_name import FileKind
from logstore.offset_index import OffsetIndex
from logstore.segment import Segment
from logstore.time_index import TimeIndex
from logstore.verify.finding import Finding, Reporter
from logstore.verify.log_pass import Chunk, SilentCheck

REBUILD: Final = "remove the file, and Kafka builds it anew from the log at its next start"

Flags = NDArray[np.bool_]
Index = TypeVar("Index", OffsetIndex, TimeIndex)


class IndexCheck(SilentCheck, Generic[Index]):
    """What both indexes have in common: read when the segment begins, compared chunk by chunk, judged when it ends."""

    kind: ClassVar[FileKind]
    slot_bytes: ClassVar[int]

    def __init__(self, report: Reporter) -> None:
        self._report = report
        self._segment: Segment | None = None
        self._index: Index | None = None
        self._good = np.empty(0, np.bool_)
        """Of each entry, whether it agrees with the log so far."""
        self._unreadable: list[Finding] = []

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Compare the entries that point into these batches."""
        self._begin(chunk.segment)
        if self._index is not None and len(self._index):
            self._compare(self._index, chunk, self._good)
        yield from ()

    def end_segment(self, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        """Report the entries that agree with no batch."""
        self._begin(segment)
        yield from self._unreadable
        if self._index is not None:
            yield from self._judge(self._index, segment, is_active=is_active)
        self._segment = None

    def _begin(self, segment: Segment) -> None:
        if segment is self._segment:
            return
        self._segment, self._index, self._unreadable = segment, None, []
        try:
            self._index = self._read(segment)
        except (LogStoreError, OSError) as error:
            name = segment.files[self.kind].name
            self._unreadable = [self._report.error("index-unreadable", str(error), file=name)]
        self._good = np.zeros(len(self._index) if self._index is not None else 0, np.bool_)
        self._start()

    def _judge(self, index: Index, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        name = segment.files[self.kind].name
        if index.odd_bytes:
            yield self._report.warning(
                "index-odd-size",
                f"{index.odd_bytes} bytes follow the last whole entry: Kafka takes the index for corrupt; {REBUILD}",
                file=name,
                position=index.slots * self.slot_bytes,
            )
        if index.zero_slots and not is_active:
            yield self._report.warning(
                "index-zero-tail",
                f"{index.zero_slots} empty entries at the end of the index of a segment that was rolled, which trims "
                "them: "
                f"Kafka may take them for entries; {REBUILD}",
                file=name,
                position=len(index) * self.slot_bytes,
            )
        for first, last in _runs(np.flatnonzero(~self._good)):
            yield self._report.error(
                "index-entry-wrong",
                f"{_entries(first, last)} with {index[first]}{' and on' if last > first else ''}: {self._meaning()}; "
                f"{REBUILD}",
                file=name,
                position=first * self.slot_bytes,
                offset=max(index.base_offset, int(self._offsets(index)[first])),
            )

    def _read(self, segment: Segment) -> Index | None:
        raise NotImplementedError

    def _start(self) -> None:
        """Forget what was known of the segment before."""

    def _compare(self, index: Index, chunk: Chunk, good: Flags) -> None:
        """Mark the entries that agree with a batch of the chunk."""
        raise NotImplementedError

    def _meaning(self) -> str:
        raise NotImplementedError

    def _offsets(self, index: Index) -> NDArray[np.int64]:
        raise NotImplementedError


class OffsetIndexCheck(IndexCheck[OffsetIndex]):
    """Each entry must be the last offset of a batch and that batch's position, in rising order."""

    kind = FileKind.OFFSET_INDEX
    slot_bytes = 8

    def _read(self, segment: Segment) -> OffsetIndex | None:
        return segment.offset_index()

    def _compare(self, index: OffsetIndex, chunk: Chunk, good: Flags) -> None:
        columns = chunk.columns
        row = np.minimum(np.searchsorted(columns.position, index.position), len(columns) - 1)
        found = (columns.position[row] == index.position) & (columns.last_offset[row] == index.last_offset)
        rising = np.ones(len(index), np.bool_)
        rising[1:] = np.diff(index.position) > 0
        good |= found & rising

    def _meaning(self) -> str:
        return "no batch with that last offset begins there, or entries do not rise, so a lookup may miss records"

    def _offsets(self, index: OffsetIndex) -> NDArray[np.int64]:
        return index.last_offset


class TimeIndexCheck(IndexCheck[TimeIndex]):
    """Each entry must be the largest timestamp so far and an offset in the batch that has it."""

    kind = FileKind.TIME_INDEX
    slot_bytes = 12

    def _read(self, segment: Segment) -> TimeIndex | None:
        return segment.time_index()

    def _start(self) -> None:
        self._largest = -1

    def _compare(self, index: TimeIndex, chunk: Chunk, good: Flags) -> None:
        columns = chunk.columns
        row = np.minimum(np.searchsorted(columns.last_offset, index.offset), len(columns) - 1)
        inside = (columns.base_offset[row] <= index.offset) & (index.offset <= columns.last_offset[row])
        largest = np.maximum(np.maximum.accumulate(columns.max_timestamp), self._largest)
        self._largest = int(largest[-1])
        good |= inside & (columns.max_timestamp[row] == index.timestamp) & (largest[row] == index.timestamp)

    def _meaning(self) -> str:
        return "the batch at that offset has another largest timestamp, so a lookup by time may miss records"

    def _offsets(self, index: TimeIndex) -> NDArray[np.int64]:
        return index.offset


def _runs(rows: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Group ascending row numbers into runs: the first and the last of each."""
    if not len(rows):
        return
    for run in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1):
        yield int(run[0]), int(run[-1])


def _entries(first: int, last: int) -> str:
    return f"entry {first}" if first == last else f"entries {first} to {last} begin"
