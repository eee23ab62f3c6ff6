"""Find offsets by time (KIP-33, KIP-734; Kafka: fetchOffsetByTimestamp)."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from epoch.compiling.awaited_kernel import AwaitedKernel
from logstore.batch.any_batch import Batch
from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import NO_TIMESTAMP, TIMESTAMP_TYPE_BIT
from logstore.batch.batches import read_batch
from logstore.segment.live_segment import LiveSegment

LATEST: Final = -1
"""The log's end."""
EARLIEST: Final = -2
"""The log's start."""
LARGEST: Final = -3
"""The record with the largest timestamp."""

BULK_BYTES: Final = 8 << 10
"""From so many on they are searched by the compiled kernels."""
NOT_FOUND: Final = -1

# Half the cost of calling a NamedTuple's class.
_build: Final = tuple.__new__


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
            found = _find_in_segment(segment, timestamp, log_start_offset)
            if found:
                return found
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
    file = segment.file
    size = file.size
    # A part of the view: a truncation may take that itself away meanwhile.
    data = file.data()[:size]
    position = segment.offset_index.lookup(max(log_start_offset, segment.time_index.lookup(timestamp)))
    in_bulk = size - position >= BULK_BYTES
    while position < size:
        find = FIND_RECORD.ready() if in_bulk else None
        if find is not None:
            position, found, offset, epoch = find(data, position, timestamp, log_start_offset)
            if offset >= 0:
                return _build(TimestampedOffset, (found, offset, epoch if epoch >= 0 else None))
            if position == size:
                return None
        batch = read_batch(data, position, str(file.path))
        if batch.max_timestamp >= timestamp:
            record = _first_record(batch, timestamp, log_start_offset)
            if record:
                return record
        position += batch.size
    return None


def _first_record(batch: Batch, timestamp: int, first_offset: int) -> TimestampedOffset | None:
    epoch = batch.leader_epoch if batch.leader_epoch >= 0 else None
    if isinstance(batch, RecordBatch) and batch.size >= BULK_BYTES and not batch.attributes & TIMESTAMP_TYPE_BIT:
        search = FIRST_RECORD_FROM.ready()
        if search is not None:
            found, offset = _search_records(search, batch, timestamp, first_offset)
            if offset >= NOT_FOUND:
                return TimestampedOffset(found, offset, epoch) if offset >= 0 else None
    for record in batch.records():
        if record.timestamp >= timestamp and record.offset >= first_offset:
            return TimestampedOffset(record.timestamp, record.offset, epoch)
    return None


def _search_records(search: Any, batch: RecordBatch, timestamp: int, first_offset: int) -> tuple[int, int]:
    """Search with the compiled kernel; below NOT_FOUND where records cannot be read, for the decoder to report why."""
    section = batch.section()
    found: tuple[int, int] = search(
        np.frombuffer(section, np.uint8),
        0,
        len(section),
        batch.record_count,
        batch.base_offset,
        batch.base_timestamp,
        timestamp,
        first_offset,
    )
    return found


def _load_find_record() -> Any:
    from epoch.compiling.kernel import machine_code  # noqa: PLC0415  numba loads on the first bulk operation
    from logstore.kernels.timestamp import find_record  # noqa: PLC0415  numba again

    return machine_code(find_record, memoryview(b""), 0, 0, 0)


def _load_first_record_from() -> Any:
    from logstore.kernels.timestamp import first_record_from  # noqa: PLC0415  as above

    first_record_from(np.frombuffer(b"", np.uint8), 0, 0, 0, 0, 0, 0, 0)
    return first_record_from


FIND_RECORD: Final = AwaitedKernel(_load_find_record)
FIRST_RECORD_FROM: Final = AwaitedKernel(_load_first_record_from)


def at_log_end(offset: int, leader_epoch: int | None) -> TimestampedOffset:
    """Answer for the log's ends, which have no time."""
    return TimestampedOffset(NO_TIMESTAMP, offset, leader_epoch)
