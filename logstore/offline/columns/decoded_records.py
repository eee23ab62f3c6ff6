"""The records of batches as columns, whatever the codec and the magic; one whose records cannot be read is reported."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import CODEC_BITS
from logstore.batch.batch_order import NO_OFFSET
from logstore.batch.batches import read_batch
from logstore.batch.columns import BatchColumns, RecordColumns
from logstore.batch.compression.codec import decompress
from logstore.batch.compression.decompression_limit import DECOMPRESSION_LIMIT, DECOMPRESSION_RATIO
from logstore.batch.decoding.whole_records import whole_records
from logstore.batch.layout import HEADER_SIZE, MAGIC
from logstore.errors import DecompressionLimitError, LogStoreError
from logstore.kernels.decode import OFFSET_ORDER, corrupt_record, decode, decode_sections
from logstore.kernels.record_parts import decode_parts
from logstore.kernels.scan import SHORTEST_RECORD
from logstore.segment.ordered_records import ordered_records

RECORDS_AT_ONCE: Final = 16_384
"""What is decoded at once: 1 MB of columns."""
BYTES_AT_ONCE: Final = 16 << 20
RECORDS_COUNTED_AT_ONCE: Final = 65_536
_PLAIN, _COMPRESSED, _LEGACY = range(3)

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A batch whose records cannot be read, although its checksum is valid."""

    row: int
    error: LogStoreError


Decoded = Iterator[RecordColumns | Unreadable]


def decoded_records(data: memoryview, columns: BatchColumns, rows: Rows, *, in_order: bool = False) -> Decoded:
    """Decode the batches in `rows`, whose checksums are valid, in their order and some thousand records at once.

    With `in_order` a batch cannot be read whose `ordered_records` cannot.
    """
    kinds = np.where(columns.attributes[rows] & CODEC_BITS == 0, _PLAIN, _COMPRESSED)
    kinds = np.where(columns.magic[rows] == MAGIC, kinds, _LEGACY)
    for group in np.split(rows, np.flatnonzero(np.diff(kinds)) + 1):
        if len(group):
            yield from _DECODERS[int(kinds[np.searchsorted(rows, group[0])])](data, columns, group, in_order)


def counted_records(columns: BatchColumns, rows: Rows) -> Iterator[RecordColumns]:
    """Give as many records as the headers of batches count, of which nothing but the batch is known."""
    counts = columns.record_count[rows].astype(np.int64)
    ends = np.cumsum(counts)
    starts = ends - counts
    total = int(counts.sum())
    for first in range(0, total, RECORDS_COUNTED_AT_ONCE):
        last = min(first + RECORDS_COUNTED_AT_ONCE, total)
        some = slice(np.searchsorted(ends, first, "right"), np.searchsorted(starts, last))
        batch = np.repeat(rows[some], np.minimum(ends[some], last) - np.maximum(starts[some], first))
        unknown = np.broadcast_to(np.int64(0), len(batch))
        unsized = np.broadcast_to(np.int32(0), len(batch))
        yield RecordColumns(
            np.empty(0, np.uint8), batch, unknown, unknown, unknown, unsized, unknown, unsized, unknown, unsized
        )


def is_countable(columns: BatchColumns) -> NDArray[np.bool_]:
    """Return for which batches the header's count of records can be taken: it is there, and they have room for it."""
    size = columns.size - HEADER_SIZE
    decompressed = np.maximum(DECOMPRESSION_LIMIT, DECOMPRESSION_RATIO * size)
    room = np.where(columns.attributes & CODEC_BITS == 0, size, decompressed) // SHORTEST_RECORD
    countable: NDArray[np.bool_] = (columns.magic == MAGIC) & (columns.record_count <= room)
    return countable


def _plain(data: memoryview, columns: BatchColumns, rows: Rows, in_order: bool) -> Decoded:
    array = np.frombuffer(data, np.uint8)
    for chunk in _chunks(columns, rows):
        row = int(chunk[0])
        if _is_large(columns, row):
            start, end = int(columns.position[row]) + HEADER_SIZE, int(columns.position[row] + columns.size[row])
            yield from _in_parts(array, columns, row, (start, end), in_order=in_order)
        else:
            yield from _each_if_need_be(lambda rows: decode(array, columns, rows, in_order=in_order), chunk)


def _compressed(data: memoryview, columns: BatchColumns, rows: Rows, in_order: bool) -> Decoded:
    waiting = _Sections(columns, in_order)
    for row in rows.tolist():
        start, end = int(columns.position[row]) + HEADER_SIZE, int(columns.position[row] + columns.size[row])
        try:
            section = decompress(int(columns.attributes[row]) & CODEC_BITS, data[start:end])
        except DecompressionLimitError:
            yield from waiting.decoded()
            yield from _in_pieces(data, columns, row, in_order=in_order)
            continue
        except LogStoreError as error:
            yield from waiting.decoded()
            yield Unreadable(row, error)
            continue
        is_large = _is_large(columns, row)
        if is_large or waiting.size + len(section) > BYTES_AT_ONCE:
            yield from waiting.decoded()
        if is_large:
            yield from _in_parts(np.frombuffer(section, np.uint8), columns, row, (0, len(section)), in_order=in_order)
        else:
            waiting.add(row, section)
        del section  # before the next is decompressed
        if waiting.is_full:
            yield from waiting.decoded()
    yield from waiting.decoded()


def _in_pieces(data: memoryview, columns: BatchColumns, row: int, *, in_order: bool) -> Decoded:
    """Decode what is too much to be decompressed at once; all can be read before any are given."""
    before = int(columns.base_offset[row]) - 1
    last = NO_OFFSET if columns.has_too_many[row] else int(columns.last_offset[row])
    try:
        for records in decoded_pieces(data, columns, row):
            offsets = records.offset
            if in_order and (offsets[-1] > last or (np.diff(offsets, prepend=before) <= 0).any()):
                raise corrupt_record(columns, row, int(columns.position[row]), OFFSET_ORDER)
            before = int(offsets[-1])
        yield from decoded_pieces(data, columns, row)
    except LogStoreError as error:
        yield Unreadable(row, error)


def decoded_pieces(data: memoryview, columns: BatchColumns, row: int) -> Iterator[RecordColumns]:
    """Decode a compressed batch of magic 2 a few MiB at once. Raises DecompressionError and CorruptRecordError."""
    batch = RecordBatch(data, int(columns.position[row]))
    number = np.array([row])
    for run, count in whole_records(batch.pieces(), batch.record_count):
        bounds = np.array([0]), np.array([len(run)])
        yield decode_sections(np.frombuffer(run, np.uint8), columns, number, *bounds, np.array([count], np.int32))


@dataclass(slots=True)
class _Sections:
    """Decompressed batches, of which those that are small are decoded together."""

    columns: BatchColumns
    in_order: bool
    rows: list[int] = field(default_factory=list)
    sections: list[bytes] = field(default_factory=list)
    records: int = 0
    size: int = 0

    @property
    def is_full(self) -> bool:
        """Whether they are as many as are decoded together."""
        return self.records >= RECORDS_AT_ONCE or self.size >= BYTES_AT_ONCE

    def add(self, row: int, section: bytes) -> None:
        """Add a section."""
        self.rows.append(row)
        self.sections.append(section)
        self.records += int(self.columns.record_count[row])
        self.size += len(section)

    def decoded(self) -> Decoded:
        """Decode them from one buffer, and keep none."""
        rows, ends = np.array(self.rows, np.int64), np.cumsum([len(section) for section in self.sections])
        starts = ends - [len(section) for section in self.sections]
        data = np.frombuffer(b"".join(self.sections), np.uint8)
        self.rows, self.sections, self.records, self.size = [], [], 0, 0

        def decode_some(some: Rows) -> RecordColumns:
            places = np.searchsorted(rows, some)
            return decode_sections(data, self.columns, some, starts[places], ends[places], in_order=self.in_order)

        if len(rows):
            yield from _each_if_need_be(decode_some, rows)


def _is_large(columns: BatchColumns, row: int) -> bool:
    return int(columns.record_count[row]) > RECORDS_AT_ONCE


def _in_parts(
    data: NDArray[np.uint8], columns: BatchColumns, row: int, bounds: tuple[int, int], *, in_order: bool
) -> Decoded:
    try:
        yield from decode_parts(data, columns, row, *bounds, records=RECORDS_AT_ONCE, in_order=in_order)
    except LogStoreError as error:
        yield Unreadable(row, error)


def _each_if_need_be(decode_some: Callable[[Rows], RecordColumns], rows: Rows) -> Decoded:
    """Decode batches together; where one of them cannot be, one by one."""
    try:
        yield decode_some(rows)
    except LogStoreError as error:
        if len(rows) == 1:
            yield Unreadable(int(rows[0]), error)
            return
        for row in rows:
            yield from _each_if_need_be(decode_some, np.array([row]))


def _legacy(data: memoryview, columns: BatchColumns, rows: Rows, in_order: bool) -> Decoded:
    for row in rows.tolist():
        message = read_batch(data, int(columns.position[row]))
        records = ordered_records(message) if in_order else message.records()
        try:
            first = list(islice(records, RECORDS_AT_ONCE))
            more = sum(1 for _ in records)  # all can be read before any are given
        except LogStoreError as error:
            yield Unreadable(row, error)
            continue
        yield RecordColumns.of(first, row)
        others = islice(message.records(), len(first), None) if more else iter(())
        while some := list(islice(others, RECORDS_AT_ONCE)):
            yield RecordColumns.of(some, row)


def _chunks(columns: BatchColumns, rows: Rows) -> list[Rows]:
    """Divide batches so that each part has about as many records, or bytes, as are decoded at once.

    A batch that has more records is a part by itself.
    """
    counts, sizes = columns.record_count[rows], columns.size[rows]
    is_large = counts > RECORDS_AT_ONCE
    cuts = np.flatnonzero(
        np.diff(np.cumsum(counts, dtype=np.int64) // RECORDS_AT_ONCE)
        | np.diff(np.cumsum(sizes, dtype=np.int64) // BYTES_AT_ONCE)
        | is_large[:-1]
        | is_large[1:]
    )
    return np.split(rows, cuts + 1)


_DECODERS: Final = {_PLAIN: _plain, _COMPRESSED: _compressed, _LEGACY: _legacy}
