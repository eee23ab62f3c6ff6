"""Makes the summary of a copy from what its pass has shown."""

from collections.abc import Iterator, Sequence
from typing import Final

from epoch import EpochHistory
from epoch.history import MAX_OFFSET
from logstore.errors import LogStoreError
from logstore.file_name import FileFate, FileKind, parse_file_name
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT
from logstore.files.partition_metadata import PartitionMetadata, format_uuid
from logstore.offline.epoch_runs import EpochRun
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from logstore.offline.segment import Segment
from logstore.verify import Finding
from logstore.verify.compaction import cleaned_to, may_be_cleaned_to
from logstore.verify.directory_check import TOPIC_ID_MISSING
from logstore.verify.epoch_check import FIRST_SEGMENT_MISSING
from logstore.verify.finding import UNREADABLE
from logstore.verify.root_check import START_BEYOND_END
from replication.copies.audit.copy_summary import CopySummary, OffsetRange, SegmentExtent
from replication.copies.audit.examination.copy_watch import CopyWatch

CHANGED_WHILE_READ: Final = "changed-while-read"
NOT_READ: Final = frozenset({UNREADABLE, CHANGED_WHILE_READ})
"""Kinds of findings that leave open what a copy holds."""
MOST_MISFITS: Final = 1_000
"""Misfit runs of epochs that are named one by one; a log with more is taken as misfit from there on."""


def summarize(
    watch: CopyWatch, checkpointed: EpochHistory | None, replica: str, findings: Sequence[Finding]
) -> CopySummary:
    """Summarize a copy; `checkpointed` is None where its leader-epoch checkpoint cannot be read."""
    partition = watch.partition
    rising, misfit = watch.runs.split()
    by_batches = EpochHistory((run.epoch, run.first_offset) for run in rising)
    # Kafka refuses a log whose checkpoint cannot be read: what can be judged is the log that a rebuilt one gives.
    loaded = RecoveredLog.of(partition, watch.tail, by_batches if checkpointed is None else checkpointed)
    begins_at = min(
        [finding.offset or 0 for finding in findings if finding.kind == FIRST_SEGMENT_MISSING],
        default=loaded.log_start_offset,
    )
    missing_from = begins_at
    is_dropped = any(finding.kind == START_BEYOND_END for finding in findings)
    if is_dropped and partition.segments:
        begins_at = min(begins_at, partition.segments[0].base_offset)
    no_files = {segment.log_path.name for segment in partition.segments if not segment.is_file}
    not_read = [finding for finding in findings if finding.kind in NOT_READ or finding.file in no_files]
    errors = [finding for finding in findings if finding.severity.is_damage and finding not in not_read]
    return CopySummary(
        replica=replica,
        topic=partition.topic_partition.topic,
        partition=partition.topic_partition.partition,
        topic_id=_topic_id(partition),
        clean_shutdown=partition.checkpoints.clean_shutdown,
        log_start_offset=loaded.log_start_offset,
        begins_at=begins_at,
        recorded_start=_recorded_start(partition, checkpointed),
        is_dropped=is_dropped,
        is_stray=any(finding.kind == TOPIC_ID_MISSING and finding.severity.is_damage for finding in findings),
        log_end_offset=loaded.log_end_offset,
        readable_end_offset=watch.readable_end_offset,
        high_watermark=loaded.high_watermark,
        checkpointed_high_watermark=partition.checkpoints.high_watermark,
        high_watermark_unread=HIGH_WATERMARK_CHECKPOINT in partition.checkpoints.unread,
        recovery_point=partition.checkpoints.recovery_point,
        cleaner_offset=partition.checkpoints.cleaner_offset,
        cleaned_to=cleaned_to(partition, watch.holes_end, _active(partition)),
        history=tuple(loaded.history.entries),
        lineage=tuple((loaded.history or by_batches.truncate_to(loaded.log_end_offset)).entries),
        checkpointed_epochs=() if checkpointed is None else tuple(checkpointed.entries),
        misfit_epochs=misfit_ranges(misfit, watch.readable_end_offset),
        corrupt=tuple(watch.corrupt),
        gaps=tuple(_gaps(watch, missing_from)),
        segments=tuple(SegmentExtent(named_offset(tally.segment), tally.size) for tally in watch.segments),
        kept_segments=len(loaded.segments),
        valid_bytes=loaded.valid_bytes,
        damage=str(loaded.damage) if loaded.damage else None,
        log_errors=sum(1 for error in errors if (error.file or "").endswith(".log")),
        errors=len(errors),
        unread=len(not_read),
        unread_files=tuple(sorted({each.file for each in not_read if each.file})),
        batches=sum(tally.batches for tally in watch.segments),
        records=sum(tally.records for tally in watch.segments),
        log_bytes=sum(tally.size for tally in watch.segments),
        open_transactions=watch.producers.open_transactions,
        last_markers=watch.producers.last_markers,
        producers=watch.producers.producers,
    )


def named_offset(segment: Segment) -> int:
    """Return the base offset in the name of a segment's file, which may have been renamed."""
    return parse_file_name(segment.log_path.name).base_offset or 0


def _recorded_start(partition: PartitionDirectory, checkpointed: EpochHistory | None) -> int | None:
    """Return where a log begins by its recorded start and its leader epochs, both of which deletion moves."""
    told, earliest = partition.checkpoints.log_start_offset, checkpointed.earliest if checkpointed else None
    if told is None or earliest is None or not partition.segments or partition.own_checkpoints is not None:
        return None
    first, start = partition.segments[0].base_offset, max(told, earliest.start_offset)
    deleted = (name.base_offset or 0 for name, _ in partition.named(FileKind.LOG, FileFate.DELETED))
    return start if start < first and all(base >= first for base in deleted) else None


def _topic_id(partition: PartitionDirectory) -> str | None:
    path = partition.listing.files.get(FileKind.PARTITION_METADATA.value)
    try:
        return format_uuid(PartitionMetadata.read(path).topic_id) if path else None
    except (LogStoreError, OSError):
        return None


def _active(partition: PartitionDirectory) -> int:
    return partition.segments[-1].base_offset if partition.segments else 0


def _gaps(watch: CopyWatch, missing_from: int) -> Iterator[OffsetRange]:
    """Leave out what the cleaner may have made."""
    partition = watch.partition
    end = may_be_cleaned_to(partition, watch.holes_end, _active(partition))
    missing_start = (missing_from, partition.log_start_offset - 1)
    for first, last in (missing_start, *watch.gaps, (watch.batches_end, MAX_OFFSET)):
        if max(first, end) <= last:
            yield OffsetRange(max(first, end), last)


def misfit_ranges(misfit: Sequence[EpochRun], end_offset: int) -> tuple[OffsetRange, ...]:
    """Return the offsets of batches whose epochs do not fit; of many, the last range reaches to the end."""
    ranges = [OffsetRange(run.first_offset, run.last_offset) for run in misfit[:MOST_MISFITS]]
    if len(misfit) > MOST_MISFITS:
        ranges.append(OffsetRange(misfit[MOST_MISFITS].first_offset, end_offset))
    return tuple(ranges)
