"""Copies whose first segments are gone, although a recorded start lets them look like those of remote storage."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from logstore.file_name import FileKind, file_name
from logstore.topic_partition import TopicPartition
from logstore.verify.epoch_check import FIRST_SEGMENT_MISSING
from logstore.verify.finding import CURE, Reporter
from replication.copies.audit.copy_summary import CopySummary, OffsetRange
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.registered import Registered


def with_its_lost_beginning(summary: CopySummary, registered: Registered | None) -> CopySummary:
    """Return a summary in which offsets between a log's recorded start and its first segment are lost.

    That needs metadata by which the topic has no remote storage: otherwise nothing counts as lost.
    """
    start = summary.recorded_start
    if start is None or registered is None or registered.is_tiered or not summary.segments:
        return summary
    first = summary.segments[0].base_offset
    return replace(
        summary,
        begins_at=min(summary.begins_at, start),
        gaps=(OffsetRange(start, first - 1), *(each for each in summary.gaps if each.last >= first)),
        log_errors=summary.log_errors + 1,
        errors=summary.errors + 1,
    )


def lost_beginnings(
    partition: TopicPartition, summaries: Sequence[CopySummary], registered: Registered | None
) -> Iterator[ReplicaFinding]:
    """Report them."""
    for each in summaries:
        if with_its_lost_beginning(each, registered) is not each and each.recorded_start is not None:
            first = each.segments[0].base_offset
            message = (
                f"the log is recorded to begin at offset {each.recorded_start}, its first segment begins at {first}, "
                "and the topic has no remote storage that could have what is between: segments are gone that no broker "
                f"has deleted; at its next start a broker lets the log begin at {first}; {CURE}"
            )
            finding = Reporter(partition).error(
                FIRST_SEGMENT_MISSING,
                message,
                file=file_name(FileKind.LOG, each.recorded_start),
                offset=each.recorded_start,
            )
            yield ReplicaFinding(each.replica, finding)
