"""Digests of batches by range of offsets, which show whether copies of a log hold the same.

They find accidents, not forgeries: whoever chooses the bytes can make other ones with equal digests.
"""

import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns
from logstore.kernels.standalone import digest_batches

Ranges = NDArray[np.int64]
"""A row a range of offsets."""

FIELDS = ("range", "first_sum", "second_sum", "batches", "records", "bytes", "first_offset", "last_offset")
RANGE, FIRST_SUM, SECOND_SUM, BATCHES, RECORDS, BYTES, FIRST_OFFSET, LAST_OFFSET = range(len(FIELDS))
"""Columns of `Ranges`; numba takes them as constants."""


def digest(columns: BatchColumns, range_bits: int) -> Ranges:
    """Sum up runs of batches whose base offsets have all but the lowest `range_bits` bits in common, a row a run.

    The fields of a row are those that `FIELDS` names. The first two sums are of independent mixes of each batch's base
    offset, last offset, leader epoch, size, magic, stored checksum and record count, modulo 2^64. The order of a run's
    batches does not matter.
    """
    ranges = np.empty(len(columns) * len(FIELDS), np.int64)
    runs: int = digest_batches(
        columns.base_offset,
        columns.last_offset,
        columns.leader_epoch,
        columns.size,
        columns.magic,
        columns.crc,
        columns.record_count,
        range_bits,
        ranges,
    )
    return ranges.reshape(-1, len(FIELDS))[:runs].copy()  # there is room for many more


def joined(ranges: Ranges) -> Ranges:
    """Join rows as `digest` gives them, of parts of one log, so that there is one a range, by range."""
    rows = ranges[np.argsort(ranges[:, RANGE], kind="stable")]
    starts = np.flatnonzero(np.diff(rows[:, RANGE], prepend=rows[:1, RANGE] - 1))
    whole = rows[starts]
    if len(whole) < len(rows):
        whole[:, FIRST_SUM : BYTES + 1] = np.add.reduceat(rows[:, FIRST_SUM : BYTES + 1], starts)
        whole[:, FIRST_OFFSET] = np.minimum.reduceat(rows[:, FIRST_OFFSET], starts)
        whole[:, LAST_OFFSET] = np.maximum.reduceat(rows[:, LAST_OFFSET], starts)
    return whole
