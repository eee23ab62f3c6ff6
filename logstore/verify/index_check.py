"""The offset and time indexes point at the batches that they were made from."""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from epoch.history import MAX_OFFSET
from logstore.batch.batch_attributes import CODEC_BITS, NO_TIMESTAMP
from logstore.batch.columns import BatchColumns
from logstore.batch.layout import MAGIC
from logstore.file_name import FileKind, file_name
from logstore.files.index_slots import OFFSET_SLOT, TIME_SLOT, read_index
from logstore.indexes.offset_index import OffsetIndex
from logstore.indexes.time_index import TimeIndex
from logstore.offline.batch_scan import PLAIN_BUDGET
from logstore.offline.segment import Segment
from logstore.verify.corrupt_runs import runs
from logstore.verify.finding import Finding, Reporter
from logstore.verify.log_pass import Chunk, SilentCheck, goes_on_after
from logstore.verify.reading import read_file

REBUILD: Final = "remove the file, and Kafka rebuilds it from the log at its next start"

Flags = NDArray[np.bool_]
Index = TypeVar("Index", OffsetIndex, TimeIndex)


class IndexCheck(SilentCheck, Generic[Index]):
    """What both indexes have in common: read when the segment begins, compared chunk by chunk, judged when it ends."""

    kind: ClassVar[FileKind]
    slot_bytes: ClassVar[int]

    def __init__(self, report: Reporter) -> None:
        self._report = report
        self._segment: Segment | None = None
        self._data: bytes | None = None
        """The index file; None where there is none, or it cannot be read."""
        self._agrees = False
        """Whether all entries are known to agree with the log, so that there is nothing to judge."""
        self._index: Index | None = None
        """The entries, once they are looked at one by one."""
        self._good = np.empty(0, np.bool_)
        """Of each entry, whether it agrees with the log so far."""
        self._unreadable: list[Finding] = []
        self._end_position = 0
        """Where the segment's last batch ends."""
        self._last_offset = -1

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Compare the entries that point into these batches."""
        self._begin(chunk.segment)
        if self._data and not self._agrees:
            is_first = self._index is None and PLAIN_BUDGET.is_spent
            self._agrees = is_first and self._agree(np.frombuffer(self._data, np.uint8), chunk)
            if not self._agrees:
                self._compare(self._entries(self._data, chunk.segment), chunk, self._good)
        self._end_position = chunk.columns.next_position
        self._last_offset = max(self._last_offset, chunk.totals.highest_offset)
        yield from ()

    def end_segment(self, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        """Report the entries that agree with no batch."""
        self._begin(segment)
        yield from self._unreadable
        if self._data and not self._agrees:
            yield from self._judge(self._entries(self._data, segment), segment, is_active=is_active)
        self._segment = None

    def _begin(self, segment: Segment) -> None:
        if segment is self._segment:
            return
        self._segment, self._index, self._agrees = segment, None, False
        self._end_position, self._last_offset = 0, segment.base_offset - 1
        self._unreadable, self._data = self._read(segment)
        self._start()

    def _read(self, segment: Segment) -> tuple[list[Finding], bytes | None]:
        path = segment.files.get(self.kind)
        if path is None:
            return [], None
        name = file_name(self.kind, segment.base_offset)
        return read_file(partial(read_index, path), name, "index-unreadable", self._report)

    def _entries(self, data: bytes, segment: Segment) -> Index:
        """Parse the index, to check its entries one by one."""
        if self._index is None:
            self._index = index = self._parse(data, segment)
            self._good = np.zeros(len(index), np.bool_)
            self._begin_comparing(index)
        return self._index

    def _judge(self, index: Index, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        name = segment.files[self.kind].name
        wrong = ~self._good
        if is_active and wrong.any() and goes_on_after(segment, self._end_position):
            wrong &= ~self._beyond(index)
        counted = len(index)
        if is_active and self._has_zero_tail(index):
            counted = int(np.flatnonzero(~wrong)[-1]) + 1 if not wrong.all() else 0
        if index.odd_bytes:
            yield self._report.warning(
                "index-odd-size",
                f"{index.odd_bytes} bytes follow the last whole entry: Kafka takes the index for corrupt; {REBUILD}",
                file=name,
                position=index.slots * self.slot_bytes,
            )
        if self._has_zero_tail(index) and not is_active:
            yield self._report.warning(
                "index-zero-tail",
                f"{index.zero_slots} empty entries end the index of a segment that was rolled, which trims them: Kafka "
                f"may take them for entries; {REBUILD}",
                file=name,
                position=len(index) * self.slot_bytes,
            )
        if counted < len(index):
            yield self._report.info(
                "index-entries-left",
                f"{_entries(counted, len(index) - 1)} with {self._in_words(index, counted)}: no batch agrees, to "
                "the index's end; a running broker does not count them, and rebuilds the index after a crash",
                file=name,
                position=counted * self.slot_bytes,
                offset=int(self._offsets(index)[counted]),
            )
        for first, last in runs(wrong[:counted].nonzero()[0]):
            yield self._report.error(
                "index-entry-wrong",
                f"{_entries(first, last)} with {self._in_words(index, first)}: {self._meaning()}; {REBUILD}",
                file=name,
                position=first * self.slot_bytes,
                offset=max(index.base_offset, int(self._offsets(index)[first])),
            )
        yield from self._judge_right(index, self._good[:counted].nonzero()[0], name)

    def _judge_right(self, index: Index, entries: NDArray[np.intp], name: str) -> Iterator[Finding]:
        """Report what is odd about entries that lookups can rely on."""
        del index, entries, name
        yield from ()

    def _has_zero_tail(self, index: Index) -> bool:
        return index.zero_slots > 0

    def _start(self) -> None:
        """Reset the state of the previous segment."""

    def _agree(self, data: NDArray[np.uint8], chunk: Chunk) -> bool:
        """Whether all entries are seen at once to agree with these batches, with nothing odd about the index."""
        raise NotImplementedError

    def _parse(self, data: bytes, segment: Segment) -> Index:
        raise NotImplementedError

    def _begin_comparing(self, index: Index) -> None:
        """Prepare what `_compare` needs."""
        raise NotImplementedError

    def _compare(self, index: Index, chunk: Chunk, good: Flags) -> None:
        """Mark the entries that agree with a batch of the chunk."""
        raise NotImplementedError

    def _beyond(self, index: Index) -> Flags:
        """Mark the entries for batches that a broker has appended since the log was read."""
        raise NotImplementedError

    def _in_words(self, index: Index, number: int) -> str:
        """Describe an entry."""
        raise NotImplementedError

    def _meaning(self) -> str:
        raise NotImplementedError

    def _offsets(self, index: Index) -> NDArray[np.int64]:
        raise NotImplementedError


class OffsetIndexCheck(IndexCheck[OffsetIndex]):
    """Each entry must be the last offset of a batch and that batch's position, in rising order.

    Before 4.0.1 brokers made one entry for each append, which may be several batches: the first one's position with the
    last one's last offset. Up to 1.1 an entry had the first offset of what was appended: lookups then begin there, too,
    and miss nothing.
    """

    kind = FileKind.OFFSET_INDEX
    slot_bytes: ClassVar[int] = OFFSET_SLOT

    def _agree(self, data: NDArray[np.uint8], chunk: Chunk) -> bool:
        from logstore.kernels.standalone import offset_index_agrees  # noqa: PLC0415  loaded on first bulk use

        columns = chunk.columns
        return bool(offset_index_agrees(data, chunk.segment.base_offset, columns.position, columns.last_offset))

    def _parse(self, data: bytes, segment: Segment) -> OffsetIndex:
        return OffsetIndex.parse(data, segment.base_offset)

    def _begin_comparing(self, index: OffsetIndex) -> None:
        self._rising = _rising(index.position)
        self._next_entry = np.append(index.position[1:], MAX_OFFSET)[: len(index)]
        self._appends: NDArray[np.int64] = np.empty(0, np.int64)
        """Entries at the position of a batch with another last offset."""

    def _compare(self, index: OffsetIndex, chunk: Chunk, good: Flags) -> None:
        columns = chunk.columns
        inside = (index.position >= columns.position[0]) & (index.position < columns.next_position)
        here = (self._rising & inside).nonzero()[0]
        row = np.searchsorted(columns.position, index.position[here])
        begins = columns.position[np.minimum(row, len(columns) - 1)] == index.position[here]
        here, row = here[begins], row[begins]
        entry, last, first = index.last_offset[here], columns.last_offset[row], columns.base_offset[row]
        is_first = entry == first
        # The first message of a wrapped set is known only once that is decompressed.
        is_wrapped = (columns.magic[row] < MAGIC) & (columns.attributes[row] & CODEC_BITS != 0) & (row > 0)
        is_first |= is_wrapped & (columns.last_offset[np.maximum(row - 1, 0)] < entry) & (entry <= last)
        good[here] = (entry == last) | is_first
        self._appends = np.concatenate([self._appends, here[~good[here]]])
        self._end_appends(index, columns, good)

    def _end_appends(self, index: OffsetIndex, columns: BatchColumns, good: Flags) -> None:
        """Find the last batches of those appends whose first batch is known; they may end in a later chunk."""
        if not len(self._appends):
            return
        target = index.last_offset[self._appends]
        row = np.minimum(np.searchsorted(columns.last_offset, target), len(columns) - 1)
        ends = columns.last_offset[row] == target
        position = columns.position[row]
        found = ends & (position > index.position[self._appends]) & (position < self._next_entry[self._appends])
        good[self._appends[found]] = True
        self._appends = self._appends[~found & (self._next_entry[self._appends] > columns.next_position)]

    def _beyond(self, index: OffsetIndex) -> Flags:
        return index.position >= self._end_position

    def _in_words(self, index: OffsetIndex, number: int) -> str:
        last_offset, position = index[number]
        return f"last offset {last_offset} at position {position:,}"

    def _meaning(self) -> str:
        return "no batch with that last offset begins there, or entries do not rise, so a lookup may miss records"

    def _offsets(self, index: OffsetIndex) -> NDArray[np.int64]:
        return index.last_offset


class TimeIndexCheck(IndexCheck[TimeIndex]):
    """No record up to an entry's offset may be later than its timestamp, and entries must rise.

    The timestamp may be larger than any record's: Kafka keeps the largest it has seen when a truncation takes that
    record away. Lookups by time then begin earlier than they need to, and miss nothing; but retention by time goes by
    the last entry.
    """

    kind = FileKind.TIME_INDEX
    slot_bytes: ClassVar[int] = TIME_SLOT

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """Note that records are not known, which may be later than all others."""
        del start, end
        self._begin(segment)
        self._all_read = False

    def _start(self) -> None:
        self._largest = NO_TIMESTAMP
        self._all_read = True
        self._has_times = False

    def _agree(self, data: NDArray[np.uint8], chunk: Chunk) -> bool:
        from logstore.kernels.standalone import time_index_agrees  # noqa: PLC0415  as above

        # Timestamps of corrupt batches, which `_compare` leaves out, can only make fewer entries agree.
        columns, base_offset = chunk.columns, chunk.segment.base_offset
        return bool(
            time_index_agrees(data, base_offset, columns.base_offset, columns.last_offset, columns.max_timestamp)
        )

    def _parse(self, data: bytes, segment: Segment) -> TimeIndex:
        return TimeIndex.parse(data, segment.base_offset)

    def _begin_comparing(self, index: TimeIndex) -> None:
        self._rising = _rising(index.timestamp)

    def _compare(self, index: TimeIndex, chunk: Chunk, good: Flags) -> None:
        columns = chunk.columns
        # What a batch with a wrong checksum says of time cannot be held against any entry.
        timestamp = np.where(columns.crc_valid, columns.max_timestamp, NO_TIMESTAMP)
        self._all_read &= bool(columns.crc_valid.all())
        self._has_times |= bool(columns.magic.any())
        largest = np.maximum(np.maximum.accumulate(timestamp), self._largest)
        self._largest = int(largest[-1])
        inside = (index.offset >= columns.base_offset.min()) & (index.offset <= columns.last_offset.max())
        here = inside.nonzero()[0]
        row = np.minimum(np.searchsorted(columns.last_offset, index.offset[here]), len(columns) - 1)
        inside = (columns.base_offset[row] <= index.offset[here]) & (index.offset[here] <= columns.last_offset[row])
        good[here] |= inside & self._rising[here] & (largest[row] <= index.timestamp[here])

    def _judge_right(self, index: TimeIndex, entries: NDArray[np.intp], name: str) -> Iterator[Finding]:
        # An entry of timestamp 0 may be empty, in the segment of records without timestamps.
        late = entries[index.timestamp[entries] > max(self._largest, 0)]
        # Brokers 0.10 noted what producers sent before they converted it to records without timestamps.
        if not (len(late) and self._all_read and self._has_times):
            return
        first, last = int(late[0]), int(late[-1])
        yield self._report.warning(
            "time-index-beyond-records",
            f"{_entries(first, last)} with {self._in_words(index, first)}: no record of the segment is later than "
            f"{self._largest}, but retention by time keeps the segment as if one were of {index[last].timestamp}; "
            f"{REBUILD}",
            file=name,
            position=first * self.slot_bytes,
            offset=max(index.base_offset, int(index.offset[first])),
        )

    def _has_zero_tail(self, index: TimeIndex) -> bool:
        # A single entry of zeros is one for timestamp 0 at the segment's first offset.
        return index.zero_slots > 0 and index.slots > 1

    def _beyond(self, index: TimeIndex) -> Flags:
        return index.offset > self._last_offset

    def _in_words(self, index: TimeIndex, number: int) -> str:
        timestamp, offset = index[number]
        return f"timestamp {timestamp} up to offset {offset}"

    def _meaning(self) -> str:
        return "a record up to that offset is later, or entries do not rise, so a lookup by time may miss records"

    def _offsets(self, index: TimeIndex) -> NDArray[np.int64]:
        return index.offset


def _rising(values: NDArray[np.int64]) -> Flags:
    """Mark those that are larger than the one before."""
    rising = np.ones(len(values), np.bool_)
    rising[1:] = values[1:] - values[:-1] > 0
    return rising


def _entries(first: int, last: int) -> str:
    return f"entry {first}" if first == last else f"entries {first} to {last} begin"
