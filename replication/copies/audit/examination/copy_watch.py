"""What the pass over a copy's log is watched for besides damage."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from logstore.batch.batch_attributes import NO_TIMESTAMP
from logstore.batch.columns import BatchColumns
from logstore.errors import LogStoreError
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovery_scan import RecoveryScan, first_segment_to_read
from logstore.offline.segment import Segment
from logstore.verify import Finding
from logstore.verify.batch_totals import BatchTotals
from logstore.verify.log_pass import Chunk, end_after
from replication.copies.audit.examination.batch_watch import BatchWatch

NO_OFFSET = -1


@dataclass(slots=True)
class SegmentTally:
    """What one segment holds. Offsets and timestamps are -1 where there are no batches."""

    segment: Segment
    size: int
    batches: int = 0
    records: int = 0
    first_offset: int = NO_OFFSET
    last_offset: int = NO_OFFSET
    min_timestamp: int = NO_TIMESTAMP
    max_timestamp: int = NO_TIMESTAMP
    corrupt_batches: int = 0

    def add(self, batches: int, totals: BatchTotals) -> None:
        """Count in the next batches, of which there are some."""
        self.first_offset = min(self.first_offset, totals.lowest_offset) if self.batches else totals.lowest_offset
        self.min_timestamp = min(self.min_timestamp, totals.earliest) if self.batches else totals.earliest
        self.last_offset = max(self.last_offset, totals.highest_offset)
        self.max_timestamp = max(self.max_timestamp, totals.latest)
        self.batches += batches
        self.records += totals.records
        self.corrupt_batches += totals.corrupt


class CopyWatch(BatchWatch):
    """Keeps besides what a summary of the copy needs: its segments, and how much of it its broker would load."""

    def __init__(self, partition: PartitionDirectory) -> None:
        super().__init__(partition.log_start_offset)
        self.partition = partition
        self.tail = RecoveryScan(partition.log_start_offset)
        """What the broker would take over of the log when it loads it."""
        self.segments: list[SegmentTally] = []
        self.readable_end_offset = partition.log_start_offset
        unchecked = partition.segments[: first_segment_to_read(partition)]
        self._unchecked = frozenset(segment.log_path.name for segment in unchecked)

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """See `Check`."""
        columns, totals = chunk.columns, chunk.totals
        self._begin(chunk.segment)
        self.segments[-1].add(len(columns), totals)
        yield from super().batches(chunk)
        self.readable_end_offset = max(self.readable_end_offset, end_after(totals.highest_offset))
        if self._is_loaded(chunk.segment) and not self.tail.take_over(self._as_loaded(columns)):
            self._find_damage(chunk.segment)

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """See `Check`."""
        del start, end
        self._begin(segment)
        if self._is_loaded(segment):
            self._find_damage(segment)

    def unread(self, segment: Segment) -> None:
        """See `Check`."""
        if os.path.lexists(segment.log_path):
            self._begin(segment)
            self.producers.pass_over()

    def end_segment(self, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        """See `Check`."""
        del is_active
        self._begin(segment)
        yield from ()

    def _begin(self, segment: Segment) -> None:
        if self.segments and self.segments[-1].segment is segment:
            return
        self.segments.append(SegmentTally(segment, _size(segment)))
        if not self.tail.damage:
            self.tail.begin(segment)
            self.readable_end_offset = max(self.readable_end_offset, segment.base_offset)

    def _is_loaded(self, segment: Segment) -> bool:
        """Whether the broker reads the segment when it loads the log, and gets as far as here."""
        return not self.tail.damage and segment.log_path.name not in self._unchecked

    def _as_loaded(self, columns: BatchColumns) -> BatchColumns:
        """Leave checksums aside where the broker does: after a stop in order."""
        if not self.partition.checkpoints.clean_shutdown or columns.crc_valid.all():
            return columns
        return replace(columns, crc_valid=np.ones(len(columns), np.bool_))

    def _find_damage(self, segment: Segment) -> None:
        is_last = segment.log_path == self.partition.segments[-1].log_path
        try:
            with segment.open_log() as log:
                self.tail.find_damage(log, is_last=is_last)
        except OSError as error:
            self.tail.damage = LogStoreError(f"the file cannot be read any more: {error}", file=segment.log_path)


def _size(segment: Segment) -> int:
    try:
        return segment.size
    except OSError:
        return 0
