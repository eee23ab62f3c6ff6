"""Records that were acknowledged, and that the copy which Kafka elects, or may elect, does not have."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from logstore.files.partition_metadata import PARTITION_METADATA_NAME as ID_FILE
from logstore.topic_partition import TopicPartition
from logstore.verify.finding import Reporter
from replication.base.counted import counted
from replication.copies.audit.comparison.comparison import Comparison
from replication.copies.audit.comparison.record_tally import RecordSpan
from replication.copies.audit.copy_summary import CopySummary
from replication.copies.audit.judgement.recommendation import Candidate, Recommendation
from replication.copies.audit.judgement.times import stretch
from replication.copies.audit.replica_finding import ReplicaFinding

COMMITTED_RECORDS_LOST: Final = "committed-records-lost"


def committed_findings(
    summaries: Sequence[CopySummary],
    recommendation: Recommendation,
    comparisons: Sequence[Comparison],
    unread: Collection[str] = (),
) -> Iterator[ReplicaFinding]:
    """Report each copy that has acknowledged records which the leader lacks that Kafka elects.

    Where the files do not show whom it elects, that is the copy with the latest leader epoch and the longest log: what
    this one lacks a leader that was elected uncleanly has lost already, or all copies have.
    """
    partition = summaries[0].topic_partition
    own = {each.replica: each.checkpointed_high_watermark or 0 for each in summaries}
    chosen = max((each for each in recommendation.expected if each.loss), key=_acknowledged, default=None)
    if chosen is not None and chosen.loss is not None:
        differing = {name for each in comparisons if each.divergences for name in _others(each, chosen.replica)}
        strays = {each.replica for each in summaries if each.is_stray}
        for replica, span in chosen.loss.by_replica.items():
            _, them = _pronouns(span)
            how = (
                "has others under some of these offsets and epochs: compare them before one is given up; keep both"
                if replica in differing
                else f"does not have {them}: {_why_lost(recommendation, them)}; keep this copy"
            )
            if chosen.replica in strays:
                how = (
                    f"sets its log aside as stray when it starts, and begins an empty one: give it its {ID_FILE} before"
                )
            is_told = (span.last_offset or 0) < own[replica]
            what = f"but {chosen.replica}, {_who(recommendation, chosen)}, {how}"
            yield _finding(partition, replica, span, what, is_told=is_told)
    for leader in recommendation.beginning_empty:
        yield from _all_lost(summaries, leader, is_certain=leader == recommendation.kafkas_choice)
    yield from _lost_anyway(partition, recommendation, unread)


def _all_lost(summaries: Sequence[CopySummary], leader: str, *, is_certain: bool) -> Iterator[ReplicaFinding]:
    """Report what is lost under a leader that lacks its copy."""
    elects = "elects" if is_certain else "may elect"
    for each in summaries:
        end = each.checkpointed_high_watermark or 0
        if end > each.log_start_offset:
            message = (
                f"{leader}, which Kafka {elects}, has no copy of {each.topic_partition}: it begins an empty log, and "
                f"what this copy has below its high watermark, {end:,}, which was acknowledged, will be lost once that "
                "leads; keep this copy"
            )
            reporter = Reporter(each.topic_partition)
            finding = reporter.critical(COMMITTED_RECORDS_LOST, message, file=None, offset=each.log_start_offset)
            yield ReplicaFinding(each.replica, finding)


def _lost_anyway(
    partition: TopicPartition, recommendation: Recommendation, unread: Collection[str]
) -> Iterator[ReplicaFinding]:
    """Report what no copy that was read has, whoever leads; what the others have is not known."""
    loss = next((each.loss for each in (*recommendation.expected, *recommendation.candidates) if each.loss), None)
    if loss is None:
        return
    others = f", unless the copy of {', '.join(sorted(unread))}, which was not read whole, has any" if unread else ""
    lost = f"lost whichever copy leads{others}"
    for replica, span in loss.unreadable.items():
        they, them = _pronouns(span)
        what = f"but {they} corrupt here, and no other copy that was read has {them}: {they} {lost}"
        yield _finding(partition, replica, span, f"{what}; keep this copy, and look for others")
    for replica, span in loss.gone.items():
        they, _ = _pronouns(span)
        what = f"but {they} not there, here or in another copy that was read: {they} {lost}"
        yield _finding(partition, replica, span, f"{what}; look for other copies")


def _acknowledged(candidate: Candidate) -> int:
    return candidate.loss.acknowledged.records if candidate.loss else 0


def _who(recommendation: Recommendation, chosen: Candidate) -> str:
    place = f"leader epoch {chosen.last_epoch}, end offset {chosen.log_end_offset:,}"
    if recommendation.election.why_unknown:
        return f"which has the latest leader epoch and the longest log ({place})"
    return f"which Kafka {'elects' if chosen.replica == recommendation.kafkas_choice else 'may elect'} ({place})"


def _why_lost(recommendation: Recommendation, them: str) -> str:
    if recommendation.election.why_unknown:
        return f"an unclean election has lost {them}, or will"
    return f"{'they' if them == 'them' else 'it'} will be lost once it leads"


def _others(comparison: Comparison, replica: str) -> Iterator[str]:
    names = comparison.left, comparison.right
    return (name for name in names if replica in names and name != replica)


def _finding(
    partition: TopicPartition, replica: str, span: RecordSpan, what: str, *, is_told: bool = True
) -> ReplicaFinding:
    lie, it, was = ("lies", "it", "was") if span.records == 1 else ("lie", "they", "were")
    how = (
        f"{lie} below the high watermark of this copy: {it} {was} acknowledged"
        if is_told
        else f"{was} acknowledged, as another copy or the cluster's metadata shows"
    )
    message = f"{in_words(span)} of {partition} {how}, {what}"
    finding = Reporter(partition).critical(COMMITTED_RECORDS_LOST, message, file=None, offset=span.first_offset)
    return ReplicaFinding(replica, finding)


def _pronouns(span: RecordSpan) -> tuple[str, str]:
    return ("it is", "it") if span.records == 1 else ("they are", "them")


def in_words(span: RecordSpan) -> str:
    """Describe records by their number, offsets, leader epochs and time.

    >>> in_words(RecordSpan(1, 56, 56, (4,), None, None))
    '1 record (offset 56, leader epoch 4)'

    >>> in_words(RecordSpan(2, 300, 301, (4,), 1_700_000_000_000, 1_700_000_000_000))
    '2 records (offsets 300..301, leader epoch 4, written 2023-11-14 22:13:20 UTC)'
    """
    return f"{number_in_words(span)} ({place_in_words(span)})" if span.records else "no records"


def number_in_words(span: RecordSpan) -> str:
    """Return how many records are of producers, and how many are control records, which are counted apart.

    >>> number_in_words(RecordSpan(3, 300, 302, (4,), control_records=1))
    '2 records and 1 control record'
    """
    records, control = span.of_producers, span.control_records
    numbers = [counted(records, "record")] if records or not control else []
    return " and ".join([*numbers, *([counted(control, "control record")] if control else [])])


def place_in_words(span: RecordSpan) -> str:
    """Describe where and when records were written, of which there is at least one.

    >>> place_in_words(RecordSpan(1, 56, 56, (4,), None, None))
    'offset 56, leader epoch 4'
    """
    return ", ".join([_offsets(span), *_epochs(span), *_times(span)])


def _offsets(span: RecordSpan) -> str:
    first, last = span.first_offset, span.last_offset
    return f"offset {first}" if first == last else f"offsets {first}..{last}"


def _epochs(span: RecordSpan) -> Iterator[str]:
    if span.epochs:
        yield f"leader epoch{'s' if len(span.epochs) > 1 else ''} {', '.join(map(str, span.epochs))}"


def _times(span: RecordSpan) -> Iterator[str]:
    when = stretch(span.min_timestamp, span.max_timestamp)
    if when is not None:
        yield f"written {when}"
