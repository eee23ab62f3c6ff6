"""Batches of a view, checked by a kernel, and their records made into objects in bulk."""

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import CODEC_BITS, TIMESTAMP_TYPE_BIT
from logstore.batch.batch_order import BatchOrder, Surroundings
from logstore.batch.columns import BatchColumns
from logstore.batch.decoding.object_decoder import ObjectDecoder
from logstore.batch.layout import HEADER_SIZE
from logstore.batch.record import Record
from logstore.errors import DecompressionError
from logstore.kernels.column_scan import scan
from logstore.segment.ordered_records import ordered_records

_DECOMPRESSED_BYTES: Final = 1 << 20
"""Decompressed at once, unless one batch has more."""

Rows = NDArray[np.int64]
Runs = Iterator[Iterator[Record]]


def sound_batches(data: memoryview, position: int, size: int, order: BatchOrder, around: Surroundings) -> BatchColumns:
    """Read batches from `position` on, as many as begin within `size` bytes: those before the first that is not sound.

    A sound one has a valid checksum, its place in the `order`, which goes along, and no more records than its header
    has offsets for; `around` lies around `data`.
    """
    columns = scan(np.frombuffer(data, np.uint8), position, check_crc=True, chunk_bytes=size)
    too_many = columns.has_too_many
    if too_many.any():
        columns = columns.first(int(too_many.argmax()))
    return order.sound(columns, data, around)


class ManyBatches:
    """Makes the records of batches of magic 2, without a look at their checksums."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._lowest = 0
        self._decoder = ObjectDecoder()

    def runs(self, columns: BatchColumns, rows: Rows, lowest: int) -> Runs:
        """Yield the records of the batches in `rows`, from offset `lowest` on.

        Raises what `ordered_records` raises.
        """
        self._lowest = lowest
        is_compressed = columns.attributes[rows] & CODEC_BITS != 0
        cuts = [0, *(np.flatnonzero(np.diff(is_compressed)) + 1).tolist(), len(rows)]
        for first, last in pairwise(cuts):
            if last > first:
                yield from (self._compressed if is_compressed[first] else self._plain)(columns, rows[first:last])

    def _plain(self, columns: BatchColumns, rows: Rows) -> Runs:
        starts = columns.position[rows] + HEADER_SIZE
        yield from self._made(self._data, columns, rows, starts, columns.position[rows] + columns.size[rows])

    def _compressed(self, columns: BatchColumns, rows: Rows) -> Runs:
        while len(rows):
            sections, size = [], 0
            for row in rows.tolist():
                try:
                    sections.append(RecordBatch(self._data, int(columns.position[row])).section())
                except DecompressionError:
                    break
                size += len(sections[-1])
                if size >= _DECOMPRESSED_BYTES:
                    break
            some, rows = rows[: len(sections)], rows[len(sections) :]
            if not len(some):
                yield self._one_by_one(columns, int(rows[0]), 0)  # which says what is wrong
                rows = rows[1:]
            ends = np.cumsum([len(section) for section in sections], dtype=np.int64)
            starts = np.concatenate(([0], ends[:-1]))
            yield from self._made(memoryview(b"".join(sections)), columns, some, starts, ends)

    def _made(self, data: memoryview, columns: BatchColumns, rows: Rows, starts: Rows, ends: Rows) -> Runs:
        append_time = columns.attributes[rows] & TIMESTAMP_TYPE_BIT != 0
        timestamps = np.where(append_time, columns.max_timestamp[rows], columns.base_timestamp[rows])
        offsets = columns.base_offset[rows], columns.last_offset[rows]
        fields = starts, ends, columns.record_count[rows], *offsets, timestamps, append_time
        sections = np.column_stack(fields).astype(np.int64, copy=False)
        while len(sections):
            fault = yield from self._decoder.runs(data, sections, self._lowest)
            if fault is None:
                break
            yield self._one_by_one(columns, int(rows[fault.section]), fault.record)
            rows, sections = rows[fault.section + 1 :], sections[fault.section + 1 :]

    def _one_by_one(self, columns: BatchColumns, row: int, first: int) -> Iterator[Record]:
        """Make the records of a batch from its record `first` on, up to one that cannot be."""
        records = islice(ordered_records(RecordBatch(self._data, int(columns.position[row]))), first, None)
        return (record for record in records if record.offset >= self._lowest)
