"""What is wrong with the records of batches whose checksums are valid: that they cannot be read, or odd."""

from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

import numpy as np

from logstore.batch.batch_attributes import CODEC_BITS
from logstore.batch.batches import read_batch
from logstore.batch.columns import BatchColumns
from logstore.batch.compression.codec import decompress
from logstore.batch.layout import HEADER_SIZE, MAGIC
from logstore.batch.record_fault import RecordFault, RecordFaultReason
from logstore.errors import DecompressionLimitError, LogStoreError
from logstore.kernels.record_checks import Rows, check_records, check_sections

_AT_ONCE: Final = 256 << 10
"""Bytes of decompressed records that are decoded in one go, of one batch at least."""
_MEANINGS: Final = {
    RecordFaultReason.LENGTH: "a record's length is impossible",
    RecordFaultReason.FIELDS: "a record's fields do not fill its length",
    RecordFaultReason.COUNT: "the records are not as many as the header counts",
    RecordFaultReason.OFFSET_RANGE: "a record's offset lies outside its batch",
    RecordFaultReason.OFFSET_ORDER: "a record's offset does not rise",
}
_MISPLACED: Final = frozenset({RecordFaultReason.OFFSET_RANGE, RecordFaultReason.OFFSET_ORDER})
"""What consumers do not look at."""


class FaultKind(Enum):
    """What follows from a fault."""

    UNREADABLE = auto()
    """Kafka's consumers end with an error there."""
    MISPLACED = auto()
    """They read it."""
    TIMESTAMP = auto()
    """The largest time stamp is not that of the header."""


class BatchFault(NamedTuple):
    """The first fault of a batch, but for those that make no difference to who reads it."""

    row: int
    kind: FaultKind
    what: str = ""
    position: int | None = None
    """Of an uncompressed record, in the file; None: that of the batch."""


def unreadable_batches(data: memoryview, columns: BatchColumns, rows: Rows) -> Iterator[BatchFault]:
    """Give those of the batches in `rows`, whose checksums are valid, that consumers cannot read."""
    return (each for each in record_faults(data, columns, rows) if each.kind is FaultKind.UNREADABLE)


def record_faults(data: memoryview, columns: BatchColumns, rows: Rows) -> Iterator[BatchFault]:
    """Look at the records of the batches in `rows`, whose checksums are valid.

    Plain batches are looked at in one kernel, compressed and old ones one at a time.
    """
    return _Records(data, columns).faults(rows)


class _Records:
    """The records of a file's batches."""

    def __init__(self, data: memoryview, columns: BatchColumns) -> None:
        self._data = data
        self._columns = columns

    def faults(self, rows: Rows) -> Iterator[BatchFault]:
        columns = self._columns
        is_new = (columns.magic[rows] == MAGIC) & (columns.record_count[rows] > 0)  # of others no record is looked for
        is_compressed = columns.attributes[rows] & CODEC_BITS != 0
        for fault in check_records(np.frombuffer(self._data, np.uint8), columns, rows[is_new & ~is_compressed]):
            yield self._of(fault, fault.position)
        yield from self._compressed(rows[is_new & is_compressed].tolist())
        for row in rows[columns.magic[rows] < MAGIC].tolist():
            yield from self._unread(row)

    def _compressed(self, rows: list[int]) -> Iterator[BatchFault]:
        """Decompress one by one, and decode some at once: a call takes as long as to look at 16 KiB."""
        sections: dict[int, bytes] = {}
        size = 0
        for row in rows:
            try:
                section = self._decompressed(row)
            except LogStoreError as error:
                yield from self._sections(sections)
                sections, size = {}, 0
                is_large = isinstance(error, DecompressionLimitError)
                yield from self._in_pieces(row) if is_large else [_unreadable(row, error)]
                continue
            sections[row] = section
            size += len(section)
            if size >= _AT_ONCE:
                yield from self._sections(sections)
                sections, size = {}, 0
        yield from self._sections(sections)

    def _decompressed(self, row: int) -> bytes:
        position, size = int(self._columns.position[row]), int(self._columns.size[row])
        codec = int(self._columns.attributes[row]) & CODEC_BITS
        return decompress(codec, self._data[position + HEADER_SIZE : position + size])

    def _sections(self, sections: dict[int, bytes]) -> Iterator[BatchFault]:
        """Check the records of batches by their rows."""
        rows, sizes = np.array(list(sections), np.int64), np.array([len(each) for each in sections.values()], np.int64)
        ends = np.cumsum(sizes)
        data = np.frombuffer(b"".join(sections.values()), np.uint8)
        for fault in check_sections(data, self._columns, rows, ends - sizes, ends):
            yield self._of(fault, None, f", {fault.position} bytes into the decompressed records")

    def _in_pieces(self, row: int) -> Iterator[BatchFault]:
        """Check a batch that is too much to be decompressed at once, as the others."""
        from logstore.offline.columns.decoded_records import decoded_pieces  # noqa: PLC0415  it loads numba

        columns = self._columns
        base, last = int(columns.base_offset[row]), int(columns.last_offset[row])
        previous, largest = base - 1, -1
        misplaced: RecordFaultReason | None = None
        try:
            for records in decoded_pieces(self._data, columns, row):
                offsets = records.offset
                if misplaced is None and (offsets.min() < base or offsets.max() > last):
                    misplaced = RecordFaultReason.OFFSET_RANGE
                elif misplaced is None and (np.diff(offsets, prepend=previous) <= 0).any():
                    misplaced = RecordFaultReason.OFFSET_ORDER
                previous, largest = int(offsets[-1]), max(largest, int(records.timestamp.max()))
        except LogStoreError as error:
            yield _unreadable(row, error)
            return
        if misplaced is not None:
            yield BatchFault(row, FaultKind.MISPLACED, _MEANINGS[misplaced])
        elif largest != int(columns.max_timestamp[row]):
            yield BatchFault(row, FaultKind.TIMESTAMP)

    def _of(self, fault: RecordFault, position: int | None, where: str = "") -> BatchFault:
        row = fault.batch
        if fault.reason is RecordFaultReason.TIMESTAMP:
            return BatchFault(row, FaultKind.TIMESTAMP)
        what = f"{_MEANINGS[fault.reason]}{where}"
        if fault.reason not in _MISPLACED:
            return BatchFault(row, FaultKind.UNREADABLE, what, position)
        behind = next(self._unread(row), None)  # the first fault
        return behind or BatchFault(row, FaultKind.MISPLACED, what, position)

    def _unread(self, row: int) -> Iterator[BatchFault]:
        """Report a batch that cannot be read one record after the other, as consumers do."""
        batch = read_batch(self._data, int(self._columns.position[row]))
        try:
            for _ in batch.records():
                pass
        except LogStoreError as error:
            yield _unreadable(row, error)


def _unreadable(row: int, error: LogStoreError) -> BatchFault:
    return BatchFault(row, FaultKind.UNREADABLE, str(error))
