"""Salvaged records as Arrow has them."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from logstore.kernels.gather import gather, gather_headers
from logstore.offline.columns.arrow_arrays import binaries, texts
from logstore.offline.columns.parts import parts_of
from logstore.shown_text import shown
from replication.copies.salvage.columns.salvaged_block import SalvagedBlock
from replication.copies.salvage.salvaged_record import SalvagedRecord

_HEADER: Final = {"key": pa.string(), "value": pa.binary()}
_TIMESTAMP: Final = pa.timestamp("ms", tz="UTC")
SCHEMA: Final = pa.schema(
    {
        "topic": pa.string(),
        "partition": pa.int32(),
        "leader_epoch": pa.int32(),
        "offset": pa.int64(),
        "timestamp": _TIMESTAMP,
        "timestamp_type": pa.int8(),
        "key": pa.binary(),
        "value": pa.binary(),
        "headers": pa.list_(pa.struct(_HEADER)),
        "producer_id": pa.int64(),
        "producer_epoch": pa.int16(),
        "sequence": pa.int32(),
        "source": pa.string(),
        "transaction": pa.int64(),
    }
)
"""The members of SalvagedRecord, in their order; headers are an empty list where a record has none."""


def of_block(block: SalvagedBlock) -> Iterator[pa.RecordBatch]:
    """Give the records of a block, in parts whose bytes are within bounds."""
    for first, last in parts_of(block.records):
        yield _of_part(block.slice(first, last))


def of_records(records: Sequence[SalvagedRecord]) -> pa.RecordBatch:
    """Give records that are objects."""
    columns: dict[str, Sequence[Any]] = dict(zip(SalvagedRecord._fields, zip(*records, strict=True), strict=True))
    columns["headers"] = [[header._asdict() for header in headers] for headers in columns["headers"]]
    columns["source"] = list(map(shown, columns["source"]))
    columns["timestamp_type"] = list(map(int, columns["timestamp_type"]))
    return pa.RecordBatch.from_arrays([pa.array(columns[each.name], each.type) for each in SCHEMA], schema=SCHEMA)


def _of_part(block: SalvagedBlock) -> pa.RecordBatch:
    records, batches = block.records, block.batches
    topic, partition = block.topic_partition
    arrays = [
        pa.repeat(pa.scalar(topic), len(block)),
        pa.repeat(pa.scalar(partition, pa.int32()), len(block)),
        pa.array(block.of_batch(batches.leader_epoch)),
        pa.array(records.offset),
        pa.array(records.timestamp).view(_TIMESTAMP),
        pa.array(block.timestamp_types()),
        binaries(gather(records.data, records.key_start, records.key_length), records.key_length >= 0),
        binaries(gather(records.data, records.value_start, records.value_length), records.value_length >= 0),
        _headers(records.data, records.headers_start, records.header_count),
        pa.array(block.of_batch(batches.producer_id)),
        pa.array(block.of_batch(batches.producer_epoch)),
        pa.array(block.sequences()),
        pa.repeat(pa.scalar(shown(block.source)), len(block)),
        pa.array(block.of_batch(block.transactions)),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _headers(data: NDArray[np.uint8], starts: NDArray[np.int64], counts: NDArray[np.int32]) -> pa.Array:
    found = gather_headers(data, starts, counts)
    ends = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=ends[1:])
    fields = [texts(found.keys), binaries(found.values, found.is_there)]
    return pa.ListArray.from_arrays(pa.array(ends), pa.StructArray.from_arrays(fields, names=list(_HEADER)))
