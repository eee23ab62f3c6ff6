"""What the pass over a copy's log is watched for besides damage."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from logstore.batch.batch_attributes import NO_TIMESTAMP
from logstore.batch.columns import BatchColumns
from logstore.errors import LogStoreError
from logstore.offline.epoch_runs import EpochRuns
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovery_scan import RecoveryScan, first_segment_to_read
from logstore.offline.segment import Segment
from logstore.verify import Finding
from logstore.verify.batch_totals import BatchTotals
from logstore.verify.log_pass import Chunk, SilentCheck, end_after, ends
from replication.copies.audit.copy_summary import OffsetRange
from replication.copies.audit.examination.producer_tally import ProducerTally
from replication.copies.audit.examination.range_digests import RangeDigests

NO_OFFSET = -1
MOST_CORRUPT = 1_000
"""Runs of corrupt batches that are kept one by one."""
MOST_GAPS = 1_000
"""Gaps between batches that are kept one by one."""


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


class CopyWatch(SilentCheck):
    """Finds nothing by itself: it keeps what a summary of the copy and its comparison with others need."""

    def __init__(self, partition: PartitionDirectory) -> None:
        self.partition = partition
        self.digests = RangeDigests()
        self.runs = EpochRuns()
        self.producers = ProducerTally()
        self.tail = RecoveryScan(partition.log_start_offset)
        """What the broker would take over of the log when it loads it."""
        self.segments: list[SegmentTally] = []
        self.corrupt: list[OffsetRange] = []
        """Offsets of batches whose checksum does not match; where there are many, the last ones are joined."""
        self.gaps: list[OffsetRange] = []
        """Offsets that no batch holds, though later ones are held; where there are many, the last ones are joined."""
        self.batches_end = partition.log_start_offset
        """Where the last batch ends, or the log starts if that is later."""
        self.holes_end = 0
        """Where the last batch ends from which the cleaner removed records."""
        self.readable_end_offset = partition.log_start_offset
        unchecked = partition.segments[: first_segment_to_read(partition)]
        self._unchecked = frozenset(segment.log_path.name for segment in unchecked)

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """See `Check`."""
        columns, totals = chunk.columns, chunk.totals
        self._begin(chunk.segment)
        self.segments[-1].add(len(columns), totals)
        if totals.corrupt:
            self._note_corrupt(columns)
        self._note_gaps(columns, totals)
        self.digests.add(columns)
        self.runs.extend(chunk.epoch_runs)
        if totals.with_producer:
            self.producers.add(columns)
        if totals.with_holes:
            self.holes_end = max(self.holes_end, _end_of_holes(columns))
        self.readable_end_offset = max(self.readable_end_offset, end_after(totals.highest_offset))
        if self._is_loaded(chunk.segment) and not self.tail.take_over(self._as_loaded(columns)):
            self._find_damage(chunk.segment)
        yield from ()

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

    def _note_corrupt(self, columns: BatchColumns) -> None:
        corrupt = columns.where(~columns.crc_valid)
        adjoins = corrupt.base_offset[1:] == corrupt.last_offset[:-1] + 1
        starts = np.flatnonzero(np.concatenate([[True], ~adjoins]))
        firsts, lasts = corrupt.base_offset[starts], corrupt.last_offset[np.append(starts[1:], len(corrupt)) - 1]
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
            # By offsets alone, so that it does not count in how many chunks the log was read.
            if self.corrupt and (first == self.corrupt[-1].last + 1 or len(self.corrupt) == MOST_CORRUPT):
                earlier = self.corrupt.pop()
                self.corrupt.append(OffsetRange(min(earlier.first, first), max(earlier.last, last)))
            else:
                self.corrupt.append(OffsetRange(first, last))

    def _note_gaps(self, columns: BatchColumns, totals: BatchTotals) -> None:
        if not totals.breaks and columns.base_offset[0] == self.batches_end:
            self.batches_end = end_after(totals.highest_offset)
            return
        reached = ends(columns, self.batches_end)
        self.batches_end = int(reached[-1])
        for row in (columns.base_offset > reached[:-1]).nonzero()[0]:
            gap = OffsetRange(int(reached[row]), int(columns.base_offset[row]) - 1)
            if len(self.gaps) == MOST_GAPS:
                last = int(columns.base_offset.max()) - 1  # of these batches no more is told
                self.gaps[-1] = OffsetRange(self.gaps[-1].first, max(self.gaps[-1].last, gap.last, last))
                return
            self.gaps.append(gap)

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


def _end_of_holes(columns: BatchColumns) -> int:
    """Return where the last sound batch ends that has fewer records than offsets, if there is one."""
    holes = (columns.record_count < columns.last_offset - columns.base_offset + 1) & columns.crc_valid
    return end_after(int(columns.last_offset[holes].max()))


def _size(segment: Segment) -> int:
    try:
        return segment.size
    except OSError:
        return 0
