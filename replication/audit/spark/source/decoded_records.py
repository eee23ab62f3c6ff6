"""The records of batches as columns, whatever the codec and the magic; a batch whose records cannot be read is told."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch_attributes import CODEC_BITS
from logstore.batch.batches import read_batch
from logstore.batch.columns import BatchColumns, RecordColumns
from logstore.batch.compression.codec import decompress
from logstore.batch.layout import HEADER_SIZE, MAGIC
from logstore.errors import LogStoreError
from logstore.kernels.decode import decode, decode_sections
from logstore.kernels.scan import SHORTEST_RECORD
from logstore.offline.log_file import LogFile

RECORDS_AT_ONCE: Final = 16_384
"""What is decoded at once, unless one batch has more: 1 MB of columns."""
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


def decoded_records(log: LogFile, columns: BatchColumns, rows: Rows) -> Decoded:
    """Decode the batches in `rows`, whose checksums are valid, in their order and some thousand records at once."""
    kinds = np.where(columns.attributes[rows] & CODEC_BITS == 0, _PLAIN, _COMPRESSED)
    kinds = np.where(columns.magic[rows] == MAGIC, kinds, _LEGACY)
    for group in np.split(rows, np.flatnonzero(np.diff(kinds)) + 1):
        if len(group):
            yield from _DECODERS[int(kinds[np.searchsorted(rows, group[0])])](log, columns, group)


def counted_records(columns: BatchColumns, rows: Rows) -> Iterator[RecordColumns]:
    """Give as many records as the headers of batches count, of which nothing but the batch is known."""
    ends = np.cumsum(columns.record_count[rows], dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    for first in range(0, total, RECORDS_COUNTED_AT_ONCE):
        numbers = np.arange(first, min(first + RECORDS_COUNTED_AT_ONCE, total))
        batch = rows[np.searchsorted(ends, numbers, "right")]
        unknown = np.broadcast_to(np.int64(0), len(batch))
        unsized = np.broadcast_to(np.int32(0), len(batch))
        yield RecordColumns(
            np.empty(0, np.uint8), batch, unknown, unknown, unknown, unsized, unknown, unsized, unknown, unsized
        )


def is_countable(columns: BatchColumns) -> NDArray[np.bool_]:
    """Return for which batches the header's count of records can be taken: it is there, and they have room for it."""
    room = (columns.size - HEADER_SIZE) // SHORTEST_RECORD
    is_compressed = columns.attributes & CODEC_BITS != 0
    countable: NDArray[np.bool_] = (columns.magic == MAGIC) & (is_compressed | (columns.record_count <= room))
    return countable


def _plain(log: LogFile, columns: BatchColumns, rows: Rows) -> Decoded:
    data = log.array
    for chunk in _chunks(columns, rows):
        yield from _each_if_need_be(lambda rows: decode(data, columns, rows), chunk)


def _compressed(log: LogFile, columns: BatchColumns, rows: Rows) -> Decoded:
    sections: list[bytes] = []
    decompressed: list[int] = []
    for row in rows.tolist():
        start, end = int(columns.position[row]) + HEADER_SIZE, int(columns.position[row] + columns.size[row])
        try:
            section = decompress(int(columns.attributes[row]) & CODEC_BITS, log.data[start:end])
        except LogStoreError as error:
            yield from _joined(columns, decompressed, sections)
            sections, decompressed = [], []
            yield Unreadable(row, error)
            continue
        sections.append(section)
        decompressed.append(row)
        count = int(columns.record_count[decompressed].sum(dtype=np.int64))
        if count >= RECORDS_AT_ONCE or sum(map(len, sections)) >= BYTES_AT_ONCE:
            yield from _joined(columns, decompressed, sections)
            sections, decompressed = [], []
    yield from _joined(columns, decompressed, sections)


def _joined(columns: BatchColumns, rows: list[int], sections: list[bytes]) -> Decoded:
    """Decode decompressed batches from one buffer."""
    if not rows:
        return
    data = np.frombuffer(b"".join(sections), np.uint8)
    ends = np.cumsum([len(section) for section in sections])
    starts = ends - [len(section) for section in sections]

    def decode_some(some: Rows) -> RecordColumns:
        places = np.searchsorted(rows, some)
        return decode_sections(data, columns, some, starts[places], ends[places])

    yield from _each_if_need_be(decode_some, np.array(rows, np.int64))


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


def _legacy(log: LogFile, columns: BatchColumns, rows: Rows) -> Decoded:
    for row in rows.tolist():
        try:
            yield RecordColumns.of(list(read_batch(log.data, int(columns.position[row])).records()), row)
        except LogStoreError as error:
            yield Unreadable(row, error)


def _chunks(columns: BatchColumns, rows: Rows) -> list[Rows]:
    """Divide batches so that each part has about as many records, or bytes, as are decoded at once."""
    counts, sizes = columns.record_count[rows], columns.size[rows]
    cuts = np.flatnonzero(
        np.diff(np.cumsum(counts, dtype=np.int64) // RECORDS_AT_ONCE)
        | np.diff(np.cumsum(sizes, dtype=np.int64) // BYTES_AT_ONCE)
    )
    return np.split(rows, cuts + 1)


_DECODERS: Final = {_PLAIN: _plain, _COMPRESSED: _compressed, _LEGACY: _legacy}
