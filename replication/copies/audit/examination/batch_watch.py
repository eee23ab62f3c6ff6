"""What the batches of a log are watched for, wherever they are read: what comparing it with other copies needs."""

from collections.abc import Iterator

import numpy as np

from logstore.batch.columns import BatchColumns
from logstore.offline.epoch_runs import EpochRuns
from logstore.verify import Finding
from logstore.verify.batch_totals import BatchTotals
from logstore.verify.log_pass import Chunk, SilentCheck, end_after, ends
from replication.copies.audit.copy_summary import OffsetRange
from replication.copies.audit.examination.producer_tally import ProducerTally
from replication.copies.audit.examination.range_digests import RangeDigests

MOST_CORRUPT = 1_000
"""Runs of corrupt batches that are kept one by one."""
MOST_GAPS = 1_000
"""Gaps between batches that are kept one by one."""


class BatchWatch(SilentCheck):
    """Finds nothing by itself: it keeps digests, epochs, producers, and where batches are corrupt or missing."""

    def __init__(self, log_start_offset: int) -> None:
        """Begin where the log does."""
        self.digests = RangeDigests()
        self.runs = EpochRuns()
        self.producers = ProducerTally()
        self.corrupt: list[OffsetRange] = []
        """Offsets of batches whose checksum does not match; where there are many, the last ones are joined."""
        self.gaps: list[OffsetRange] = []
        """Offsets that no batch holds, though later ones are held; where there are many, the last ones are joined."""
        self.batches_end = log_start_offset
        """Where the last batch ends, or the log starts if that is later."""
        self.holes_end = 0
        """Where the last batch ends from which the cleaner removed records."""

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """See `Check`."""
        columns, totals = chunk.columns, chunk.totals
        if totals.corrupt:
            self._note_corrupt(columns)
        self._note_gaps(columns, totals)
        self.digests.add(columns)
        self.runs.extend(chunk.epoch_runs)
        if totals.with_producer:
            self.producers.add(columns)
        if totals.with_holes:
            self.holes_end = max(self.holes_end, _end_of_holes(columns))
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


def _end_of_holes(columns: BatchColumns) -> int:
    """Return where the last sound batch ends that has fewer records than offsets, if there is one."""
    holes = (columns.record_count < columns.last_offset - columns.base_offset + 1) & columns.crc_valid
    return end_after(int(columns.last_offset[holes].max()))
