"""Counts the rows of a table as runs of offsets, some at a time, so that runs are shuffled and not rows."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from replication.copies.reconcile.row_runs import UNKNOWN_EPOCH, summed

UNUSABLE: Final = -2
"""Stands for the offset of a row that has none."""
BUCKET_BITS: Final = 20
"""Runs of this many bits of offsets are added up together: a task's memory is bounded, also for rows in no order."""
MOST_RUNS: Final = 1 << 19
"""So many are held before they are given away."""
RUNS: Final = pa.schema(
    {
        "topic": pa.string(),
        "partition": pa.int32(),
        "leader_epoch": pa.int32(),
        "bucket": pa.int64(),
        "first_offset": pa.int64(),
        "last_offset": pa.int64(),
        "copies": pa.int64(),
    }
)
"""`row_runs.RowRuns` of partitions. A row that lacks its topic or partition has neither."""
_NO_TOPIC: Final = -1


def count_rows(tables: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn rows of topic, partition, offset and leader epoch, in any order, into runs; none is of two buckets."""
    held: list[pa.RecordBatch] = []
    for table in tables:
        held.append(merged(_as_runs(table)))
        if sum(each.num_rows for each in held) > MOST_RUNS:
            held = [merged(_one(held))]
            if held[0].num_rows > MOST_RUNS // 2:
                yield from held
                held = []
    if held:
        yield merged(_one(held))


def merged(runs: pa.RecordBatch) -> pa.RecordBatch:
    """Add up runs of the same partition, leader epoch and bucket."""
    topics, codes = _encoded(runs.column("topic"))
    keys = [codes, *(_numbers(runs.column(name)) for name in ("partition", "leader_epoch", "bucket"))]
    first, last, copies = (_numbers(runs.column(name)) for name in ("first_offset", "last_offset", "copies"))
    codes, partition, *others = summed(keys, first, last, copies)
    has_topic = codes != _NO_TOPIC
    columns = [
        pa.array([*topics, None], pa.string()).take(pa.array(np.where(has_topic, codes, len(topics)))),
        pa.array(partition, pa.int32(), mask=~has_topic),
        *(pa.array(column).cast(field.type) for column, field in zip(others, list(RUNS)[2:], strict=True)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RUNS)


def _as_runs(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Make a run of each row."""
    offsets = pa.array(_numbers(rows.column("offset"), UNUSABLE))
    epochs = rows.column("leader_epoch").fill_null(UNKNOWN_EPOCH)
    buckets = pa.array(offsets.to_numpy() >> BUCKET_BITS)
    once = pa.array(np.ones(rows.num_rows, np.int64))
    columns = [rows.column("topic"), rows.column("partition"), epochs, buckets, offsets, offsets, once]
    return pa.RecordBatch.from_arrays(columns, schema=RUNS)


def _encoded(topics: pa.Array) -> tuple[list[str], NDArray[np.int64]]:
    """Return the topics that there are, by name, and of each row which of them it has."""
    encoded = topics.dictionary_encode()
    return encoded.dictionary.to_pylist(), _numbers(encoded.indices, _NO_TOPIC)


def _numbers(column: pa.Array, null: int = _NO_TOPIC) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = column.fill_null(null).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return numbers


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.concat_batches(batches) if len(batches) > 1 else batches[0]
