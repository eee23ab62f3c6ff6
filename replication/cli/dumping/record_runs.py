"""Renders the records of many batches at once, with the kernels."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.any_batch import Batch
from logstore.batch.batch import RecordBatch
from logstore.batch.columns import RecordColumns
from logstore.batch.compression.codec import Codec, decompress
from logstore.batch.layout import HEADER_SIZE
from logstore.kernels.column_scan import scan
from logstore.kernels.decode import decode, decode_section
from logstore.kernels.render import LineRenderer, Lines, sequences
from replication.cli.dumping.log_reading import Gap
from replication.cli.dumping.offset_range import OffsetRange

RUN_BYTES: Final = 4 << 20
"""What is rendered at once, at most, so that memory stays flat."""


def split_runs(items: Iterable[Batch | Gap]) -> Iterator[list[RecordBatch] | Batch | Gap]:
    """Put batches together that can be rendered at once; other items and unusual batches come alone, in order.

    A run is consecutive batches without compression, or one batch with.
    """
    run: list[RecordBatch] = []
    for item in items:
        if run and not _continues(run, item):
            yield run
            run = []
        if isinstance(item, RecordBatch) and _is_usual(item):
            run.append(item)
        else:
            yield item
    if run:
        yield run


def _is_usual(batch: RecordBatch) -> bool:
    return not batch.is_control and batch.size <= RUN_BYTES


def _continues(run: Sequence[RecordBatch], item: Batch | Gap) -> bool:
    first, last = run[0], run[-1]
    return (
        isinstance(item, RecordBatch)
        and _is_usual(item)
        and first.codec == item.codec == Codec.NONE
        and item.position == last.position + last.size
        and item.position + item.size - first.position <= RUN_BYTES
    )


_COLUMNS: Final = tuple(column.name for column in fields(RecordColumns) if column.name != "data")


class RunRenderer:
    """Renders runs of one log file, limited to a range of offsets."""

    def __init__(self, prefix: bytes, offsets: OffsetRange, *, json: bool) -> None:
        """Create a renderer with the text before each record's offset."""
        self._lines = LineRenderer(prefix, json=json)
        self._offsets = offsets

    def render(self, run: Sequence[RecordBatch], batch_lines: Sequence[bytes]) -> bytes:
        """Return each batch's line, followed by those of its records.

        Raises LogStoreError where any of them cannot be read or take more memory than is usual.
        """
        data = np.frombuffer(run[0].data, np.uint8)
        batches = scan(data, run[0].position, check_crc=False, capacity=len(run))
        if run[0].codec == Codec.NONE:
            records = decode(data, batches)
        else:
            records = decode_section(_decompress(run[0]), batches, 0)
        records = self._wanted(records)
        lines = self._lines.render(records, sequences(records, batches))
        return b"".join(_interleave(batch_lines, records, lines))

    def _wanted(self, records: RecordColumns) -> RecordColumns:
        if self._offsets == OffsetRange():
            return records
        rows = (records.offset >= self._offsets.start) & (records.offset < self._offsets.stop)
        return replace(records, **{name: getattr(records, name)[rows] for name in _COLUMNS})


def _decompress(batch: RecordBatch) -> NDArray[np.uint8]:
    section = batch.data[batch.position + HEADER_SIZE : batch.position + batch.size]
    return np.frombuffer(decompress(batch.codec, section, limit=RUN_BYTES), np.uint8)


def _interleave(batch_lines: Sequence[bytes], records: RecordColumns, lines: Lines) -> Iterator[bytes | memoryview]:
    rows = np.searchsorted(records.batch, np.arange(len(batch_lines)), side="right")
    ends = np.concatenate(([0], lines.ends))[rows].tolist()
    start = 0
    for line, end in zip(batch_lines, ends, strict=True):
        yield line
        yield lines.data[start:end]
        start = end
