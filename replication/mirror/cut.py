"""What a truncation takes away, counted before it does."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from logstore import Log, ReadView, TopicPartition
from logstore.batch_scan import scan_batches

READ_BYTES: Final = 16 << 20
"""How much of a log is looked at, or copied, at once."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A truncation that is about to happen to a partition's copy."""

    partition: TopicPartition
    leader_epoch: int
    """Of the leader whose log the copy is to agree with."""
    offset: int
    """Where the log ends from now on."""
    end_offset: int
    """Where it ended before."""
    high_watermark: int
    """Where the copy's high watermark was."""
    first_offset: int
    """Of the batches that go, the first offset: below `offset` where that lies within a batch."""
    records: int
    """Control records included."""
    bytes: int
    reason: str

    @property
    def is_below_high_watermark(self) -> bool:
        """Whether records go that all replicas in sync once had: an unclean election, or a leader that lost data."""
        return self.first_offset < self.high_watermark

    @classmethod
    def of(cls, partition: TopicPartition, log: Log, offset: int, leader_epoch: int, reason: str) -> "Cut":
        """Count what goes when `log` is truncated to `offset`: every batch that reaches it. Raises OSError."""
        first_offset, records, size = offset, 0, 0
        for view in removed_batches(log, offset):
            for columns in scan_batches(view.data, 0, check_crc=False):
                if not size:
                    first_offset = min(offset, int(columns.base_offset[0]))
                records += int(columns.record_count.sum(dtype=np.int64))
                size += int(columns.size.sum())
        return cls(
            partition=partition,
            leader_epoch=leader_epoch,
            offset=offset,
            end_offset=log.log_end_offset,
            high_watermark=log.high_watermark,
            first_offset=first_offset,
            records=records,
            bytes=size,
            reason=reason,
        )


def removed_batches(log: Log, offset: int) -> Iterator[ReadView]:
    """Give the batches that a truncation to `offset` removes, as they are. Raises OSError."""
    # Up to where the log ends now: who truncates is the only one who writes.
    position, end = max(offset, log.log_start_offset), log.log_end_offset
    while position < end:
        view = log.read(position, READ_BYTES)
        if not len(view):
            return
        yield view
        position = _end_of(view)


def _end_of(view: ReadView) -> int:
    last = max(int(columns.last_offset[-1]) for columns in scan_batches(view.data, 0, check_crc=False))
    return last + 1
