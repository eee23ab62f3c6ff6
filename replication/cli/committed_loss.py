"""Records below the high watermark that a log loses as it is cut off."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logstore.batch.columns import BatchColumns
    from logstore.offline.recovered_log import RecoveredLog
    from replication.audit.comparison.batch_reader import Batches
    from replication.audit.comparison.record_tally import RecordSpan


def committed_loss(found: "RecoveredLog", end: int) -> "RecordSpan":
    """Tell what of a log's records was committed, by the checkpoint file, and goes once the log ends at `end`.

    What is beyond the log's end counts too, by offsets: it stands behind damage, and goes as the log is recovered
    first, or is gone with its files. Raises OSError.
    """
    from replication.audit.comparison.record_tally import RecordTally, clipped

    committed = found.partition.checkpoints.high_watermark or 0
    tally = RecordTally()
    for columns in found.batches_from(end) if end < committed else ():
        tally.add(clipped(_rows(columns), end, committed))
    tally.add(_stretch(found.log_end_offset, committed))
    return tally.span


def offsets_lost(end: int, committed: int) -> "RecordSpan":
    """Tell of the records that a log which ends at `end` lacks below its high watermark, as far as offsets do."""
    from replication.audit.comparison.record_tally import RecordTally

    tally = RecordTally()
    tally.add(_stretch(end, committed))
    return tally.span


def _rows(columns: "BatchColumns") -> "Batches":
    import numpy as np

    from replication.audit.comparison.batch_reader import ROW

    rows = np.zeros(len(columns), ROW)
    for name in ("base_offset", "last_offset", "leader_epoch", "record_count", "base_timestamp", "max_timestamp"):
        rows[name] = getattr(columns, name)
    return rows


def _stretch(first: int, end: int) -> "Batches":
    from epoch import UNDEFINED_EPOCH
    from replication.audit.comparison.unreadable_records import rows_of
    from replication.audit.copy_summary import OffsetRange

    return rows_of(UNDEFINED_EPOCH, [OffsetRange(first, end - 1)] if first < end else [])
