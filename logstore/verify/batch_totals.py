"""What the batches of a chunk amount to: it shows each check whether it has to look at them one by one."""

from typing import NamedTuple, Self

import numpy as np

from logstore.batch.batch_attributes import TRANSACTIONAL_BIT
from logstore.batch.columns import BatchColumns
from logstore.batch.layout import MAGIC
from logstore.offline.batch_scan import PLAIN_BUDGET
from logstore.verify.header_contradictions import contradictions


class BatchTotals(NamedTuple):
    """Counts are of batches unless they say otherwise; where one is 0 there is nothing to look for."""

    corrupt: int
    """Checksums that do not match."""
    records: int
    """Of all batches, by their headers."""
    lowest_offset: int
    """The smallest base offset."""
    highest_offset: int
    """The largest last offset."""
    earliest: int
    """The smallest base timestamp."""
    latest: int
    """The largest of the largest timestamps."""
    breaks: int
    """Batches that do not begin right after the end of the one before, or end before they begin."""
    epoch_changes: int
    """Batches with another leader epoch than the one before."""
    without_epoch: int
    """Batches without a leader epoch."""
    with_holes: int
    """Sound batches with fewer records than offsets, as only the cleaner makes them."""
    contradictory: int
    """Sound batches of magic 2 whose header contradicts itself (see `header_contradictions`)."""
    with_producer: int
    """Batches with a producer id."""
    transactional: int
    """Batches of transactions, markers included."""

    @classmethod
    def of(cls, columns: BatchColumns) -> Self:
        """Total one batch or more: with a kernel, once kernels are in use."""
        return cls.by_kernel(columns) if PLAIN_BUDGET.is_spent else cls.in_plain_numpy(columns)

    @classmethod
    def by_kernel(cls, columns: BatchColumns) -> Self:
        """Total one batch or more with a kernel, in one look at each."""
        from logstore.kernels.standalone import total_batches  # noqa: PLC0415  loaded on the first bulk operation

        if not len(columns):
            raise ValueError("No batches have no totals")
        totals = total_batches(
            columns.base_offset,
            columns.last_offset,
            columns.leader_epoch,
            columns.magic,
            columns.attributes,
            columns.base_timestamp,
            columns.max_timestamp,
            columns.producer_id,
            columns.producer_epoch,
            columns.base_sequence,
            columns.record_count,
            columns.crc_valid,
        )
        return cls._make(totals)

    @classmethod
    def in_plain_numpy(cls, columns: BatchColumns) -> Self:
        """Total one batch or more without numba."""
        first, last, epochs = columns.base_offset, columns.last_offset, columns.leader_epoch
        offsets = last - first + 1
        breaks = last < first
        breaks[1:] |= first[1:] != last[:-1] + 1
        wrong = np.logical_or.reduce([each.found for each in contradictions(columns)])
        return cls(
            corrupt=int(np.count_nonzero(~columns.crc_valid)),
            records=int(columns.record_count.sum(dtype=np.int64)),
            lowest_offset=int(first.min()),
            highest_offset=int(last.max()),
            earliest=int(columns.base_timestamp.min()),
            latest=int(columns.max_timestamp.max()),
            breaks=int(np.count_nonzero(breaks)),
            epoch_changes=int(np.count_nonzero(epochs[1:] != epochs[:-1])),
            without_epoch=int(np.count_nonzero(epochs < 0)),
            with_holes=int(np.count_nonzero((columns.record_count < offsets) & columns.crc_valid & ~columns.is_unread)),
            contradictory=int(np.count_nonzero(wrong & columns.crc_valid & (columns.magic == MAGIC))),
            with_producer=int(np.count_nonzero(columns.producer_id >= 0)),
            transactional=int(np.count_nonzero(columns.attributes & TRANSACTIONAL_BIT)),
        )
