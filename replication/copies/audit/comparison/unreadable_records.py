"""Acknowledged records whose batches are corrupt in every copy that has them: they are lost whichever copy leads."""

from collections.abc import Iterable, Sequence

import numpy as np

from replication.copies.audit.comparison.batch_differences import without
from replication.copies.audit.comparison.batch_reader import BatchReader
from replication.copies.audit.comparison.batch_rows import ROW, Batches, ranges_of, rows_of_ranges
from replication.copies.audit.copy_summary import CopySummary, OffsetRange, merged
from replication.copies.audit.examination.range_digests import RANGE_BITS


def acknowledged_and_corrupt(summary: CopySummary) -> list[OffsetRange]:
    """Return the offsets of corrupt batches below the high watermark of their copy."""
    start, end = summary.log_start_offset, summary.checkpointed_high_watermark or 0
    ranges = (OffsetRange(max(first, start), min(last, end - 1)) for first, last in summary.corrupt)
    return merged([each for each in ranges if each.first <= each.last])


def unreadable(rows: Batches, wanted: Sequence[OffsetRange], end: int, others: Iterable[BatchReader]) -> Batches:
    """Return what of a copy's rows is corrupt, within the offsets wanted and below `end`, and sound in no other copy.

    Other than in what they are taken from, a row is a stretch of offsets under one epoch, each of them one record: the
    checksum covers what would show more. Where the cleaner of another copy was at work, it may have removed them.
    Raises CopyUnreadableError.
    """
    corrupt = _ending_before_the_next(rows, end)[rows["is_corrupt"]]
    found = [np.empty(0, ROW)]
    for epoch in np.unique(corrupt["leader_epoch"]).tolist():
        offsets = _common(ranges_of(corrupt[corrupt["leader_epoch"] == epoch]), wanted)
        for reader in others:
            if offsets:
                offsets = [*without(offsets, _known_to(reader, epoch, offsets))]
        found.append(rows_of_ranges(epoch, offsets))
    return np.concatenate(found)


def _ending_before_the_next(rows: Batches, end: int) -> Batches:
    """Limit each batch to end before the next one, whose checksum covers where it begins."""
    rows = rows.copy()
    limits = np.concatenate([rows["base_offset"][1:], [end]])[: len(rows)]
    rows["last_offset"] = np.minimum(rows["last_offset"], limits - 1)
    return rows


def _common(ranges: list[OffsetRange], wanted: Sequence[OffsetRange]) -> list[OffsetRange]:
    return [*without(ranges, [*without(ranges, list(wanted))])]


def _known_to(reader: BatchReader, epoch: int, offsets: Sequence[OffsetRange]) -> list[OffsetRange]:
    """Return the offsets of which a copy has records under the epoch, or may have: unread, or before it was cleaned."""
    numbers = reader.ranges_with(offsets)
    rows = reader.read(min(numbers) << RANGE_BITS, max(numbers) + 1 << RANGE_BITS) if numbers else np.empty(0, ROW)
    rows = rows[rows["is_sound"] & (rows["leader_epoch"] == epoch)]
    return merged([*ranges_of(rows), *reader.copy.summary.cleaned, *reader.copy.summary.unread_offsets])
