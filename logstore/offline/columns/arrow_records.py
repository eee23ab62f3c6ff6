"""Records as Arrow has them: the columns of `RECORDS`, in record batches of some thousand rows."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from logstore.batch.columns import RecordColumns
from logstore.kernels.gather import gather, gather_headers
from logstore.offline.columns.arrow_arrays import binaries, lists, texts
from logstore.offline.columns.column_reader import Chunk
from logstore.offline.columns.parts import parts_of

_HEADERS: Final = pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))
_TIMESTAMP: Final = pa.timestamp("ms", tz="UTC")
RECORDS: Final = pa.schema(
    {
        "offset": pa.int64(),
        "timestamp": _TIMESTAMP,
        "leader_epoch": pa.int32(),
        "key": pa.binary(),
        "value": pa.binary(),
        "headers": _HEADERS,
    }
)
"""Names as in tables of logs (`docs/spark.md`). Headers are null where a record has none."""


def as_reader(chunks: Iterable[Chunk]) -> pa.RecordBatchReader:
    """Give records one batch of rows at a time, as they are read."""
    return pa.RecordBatchReader.from_batches(RECORDS, _record_batches(chunks))


def _record_batches(chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
    for records, batches in chunks:
        for first, last in parts_of(records):
            yield _record_batch(records.slice(first, last), batches.leader_epoch)


def _record_batch(records: RecordColumns, epochs: NDArray[np.int32]) -> pa.RecordBatch:
    data = records.data
    arrays = [
        pa.array(records.offset),
        pa.array(records.timestamp).view(_TIMESTAMP),
        pa.array(epochs[records.batch]),
        _binary(data, records.key_start, records.key_length),
        _binary(data, records.value_start, records.value_length),
        _headers(records),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=RECORDS)


def _binary(data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int32]) -> pa.Array:
    """Copy values, as Arrow has them one behind the other, where a log has the next record's header between them."""
    is_there = lengths >= 0
    if not is_there.any():
        return pa.nulls(len(lengths), pa.binary())
    return binaries(gather(data, starts, lengths), is_there)


def _headers(records: RecordColumns) -> pa.Array:
    if not records.header_count.any():
        return pa.nulls(len(records), _HEADERS)
    found = gather_headers(records.data, records.headers_start, records.header_count)
    return lists({"key": texts(found.keys), "value": binaries(found.values, found.is_there)}, records.header_count)
