"""Check the records of many batches, with a kernel that needs no numba once it is kept."""

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch_attributes import CODEC_BITS
from logstore.batch.columns import BatchColumns
from logstore.batch.layout import HEADER_SIZE, MAGIC
from logstore.batch.record_fault import RecordFault, RecordFaultReason
from logstore.kernels.data import read_only
from logstore.kernels.standalone import check_batches

SOUND = 0
"""What the kernel says where it has no reason to complain."""

Data = NDArray[np.uint8]
Rows = NDArray[np.int64]
"""Row numbers of batches in a `BatchColumns`."""


def check_records(data: Data, batches: BatchColumns, rows: Rows | None = None) -> list[RecordFault]:
    """Check the records of the uncompressed batches that were scanned from `data`, or of those in `rows`.

    Each batch must hold as many records as it counts, fill its size with them exactly, and their offsets must ascend
    from its base offset at least to its last offset at most. The largest of their timestamps must be the batch's, or -1
    if all are lower, unless the leader set them. Gives the first fault of each batch, none if all is well.
    """
    rows = uncompressed(batches) if rows is None else rows
    return _check(
        data, batches, rows, batches.position[rows] + HEADER_SIZE, batches.position[rows] + batches.size[rows]
    )


def check_sections(data: Data, batches: BatchColumns, rows: Rows, starts: Rows, ends: Rows) -> list[RecordFault]:
    """Check the decompressed records of the batches in `rows`, each of which lies in `data` from its start to its end.

    As `check_records` does; positions are those in the decompressed records of the one batch.
    """
    start_of = dict(zip(rows.tolist(), starts.tolist(), strict=True))
    faults = _check(data, batches, rows, starts, ends)
    return [fault._replace(position=fault.position - start_of[fault.batch]) for fault in faults]


def uncompressed(batches: BatchColumns) -> Rows:
    """Rows of the batches of magic 2 whose records are not compressed."""
    return np.flatnonzero((batches.magic == MAGIC) & (batches.attributes & CODEC_BITS == 0))


def _check(data: Data, batches: BatchColumns, rows: Rows, starts: Rows, ends: Rows) -> list[RecordFault]:
    data = read_only(data)
    counts = batches.record_count[rows]
    last_deltas = batches.last_offset[rows] - batches.base_offset[rows]
    times = batches.base_timestamp[rows], batches.max_timestamp[rows], batches.attributes[rows]
    faults: list[RecordFault] = []
    index = 0
    while index < len(rows):
        index, position, reason = check_batches(data, index, starts, ends, counts, last_deltas, *times)
        if reason != SOUND:
            faults.append(RecordFault(int(rows[index]), int(position), RecordFaultReason(reason)))
        index += 1
    return faults
