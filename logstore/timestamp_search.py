"""Find offsets by time (KIP-33, KIP-734; Kafka: fetchOffsetByTimestamp)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from logstore.batch_attributes import NO_TIMESTAMP
from logstore.batches import Batch
from logstore.live_segment import LiveSegment

LATEST: Final = -1
"""The log's end."""
EARLIEST: Final = -2
"""The log's start."""
LARGEST: Final = -3
"""The record with the largest timestamp."""


class TimestampedOffset(NamedTuple):
    """A record found by time (Kafka: TimestampAndOffset)."""

    timestamp: int
    """In milliseconds since 1970 UTC; -1 for the log's ends."""
    offset: int
    leader_epoch: int | None
    """Of the batch, or of whoever leads at the log's end; None where it has none."""


def find_timestamp(segments: Sequence[LiveSegment], timestamp: int, log_start_offset: int) -> TimestampedOffset | None:
    """Find the first record from `log_start_offset` on that is not before `timestamp`. Raises OSError."""
    for segment in segments:
        if segment.largest_timestamp >= timestamp:
            return _find_in_segment(segment, timestamp, log_start_offset)
    return None


def find_largest(segments: Sequence[LiveSegment]) -> TimestampedOffset | None:
    """Find the first record with the largest timestamp of all. Raises OSError."""
    segment = max(segments, key=lambda each: each.largest.timestamp)
    largest = segment.largest
    for batch in segment.batches(segment.offset_index.lookup(largest.offset)):
        if batch.max_timestamp == largest.timestamp:
            return _first_record(batch, largest.timestamp, 0)
    return None


def _find_in_segment(segment: LiveSegment, timestamp: int, log_start_offset: int) -> TimestampedOffset | None:
    start = segment.offset_index.lookup(max(segment.time_index.lookup(timestamp), log_start_offset))
    for batch in segment.batches(start):
        if batch.max_timestamp >= timestamp:
            found = _first_record(batch, timestamp, log_start_offset)
            if found:
                return found
    return None


def _first_record(batch: Batch, timestamp: int, first_offset: int) -> TimestampedOffset | None:
    for record in batch.records():
        if record.timestamp >= timestamp and record.offset >= first_offset:
            epoch = batch.leader_epoch
            return TimestampedOffset(record.timestamp, record.offset, epoch if epoch >= 0 else None)
    return None


def at_log_end(offset: int, leader_epoch: int | None) -> TimestampedOffset:
    """Answer for the log's ends, which have no time."""
    return TimestampedOffset(NO_TIMESTAMP, offset, leader_epoch)
