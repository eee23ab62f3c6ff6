"""Records below the high watermark that a log loses as it is cut off."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logstore.offline.recovered_log import RecoveredLog
    from replication.copies.audit.comparison.batch_rows import Batches
    from replication.copies.audit.comparison.record_tally import RecordSpan


def committed_loss(found: "RecoveredLog", end: int) -> "RecordSpan":
    """Return which of a log's records were committed, by the checkpoint file, and are lost once the log ends at `end`.

    What is beyond the log's end counts too, by offsets: it stands behind damage, and goes as the log is recovered
    first, or is gone with its files. Raises OSError.
    """
    from replication.copies.audit.comparison.batch_rows import rows_of_batches
    from replication.copies.audit.comparison.record_tally import RecordTally, clipped

    committed = found.partition.checkpoints.high_watermark or 0
    tally = RecordTally()
    for columns in found.batches_from(end) if end < committed else ():
        tally.add(clipped(rows_of_batches(columns), end, committed))
    tally.add(_stretch(found.log_end_offset, committed))
    return tally.span


def offsets_lost(end: int, committed: int) -> "RecordSpan":
    """Return the records that a log which ends at `end` lacks below its high watermark, counted by offsets."""
    from replication.copies.audit.comparison.record_tally import RecordTally

    tally = RecordTally()
    tally.add(_stretch(end, committed))
    return tally.span


def _stretch(first: int, end: int) -> "Batches":
    from epoch import UNDEFINED_EPOCH
    from replication.copies.audit.comparison.batch_rows import rows_of_ranges
    from replication.copies.audit.copy_summary import OffsetRange

    return rows_of_ranges(UNDEFINED_EPOCH, [OffsetRange(first, end - 1)] if first < end else [])
