"""Records that were acknowledged, and that the copy which Kafka elects does not have."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from logstore.topic_partition import TopicPartition
from logstore.verify.finding import Reporter
from replication.audit.recommendation import Recommendation
from replication.audit.record_tally import RecordSpan
from replication.audit.replica_finding import ReplicaFinding

COMMITTED_RECORDS_LOST: Final = "committed-records-lost"


def committed_findings(partition: TopicPartition, recommendation: Recommendation) -> Iterator[ReplicaFinding]:
    """Report each copy that has records below its high watermark which Kafka's choice of a leader lacks."""
    chosen = recommendation.candidate(recommendation.kafkas_choice)
    if chosen is None or chosen.loss is None:
        return
    for replica, span in chosen.loss.by_replica.items():
        yield ReplicaFinding(
            replica,
            Reporter(partition).critical(
                COMMITTED_RECORDS_LOST,
                f"{in_words(span)} of {partition} lie below the high watermark of this copy: they were acknowledged, "
                f"but {chosen.replica}, which Kafka elects (leader epoch {chosen.last_epoch}, end offset "
                f"{chosen.log_end_offset:,}), does not have them: an unclean election has lost them, or will; keep "
                "this copy",
                file=None,
                offset=span.first_offset,
            ),
        )


def in_words(span: RecordSpan) -> str:
    """Describe records by their number, offsets, leader epochs and time.

    >>> in_words(RecordSpan(2, 300, 301, (4,), 1_700_000_000_000, 1_700_000_000_000))
    '2 records (offsets 300..301, leader epoch 4, written 2023-11-14 22:13:20 UTC)'
    """
    if not span.records:
        return "no records"
    epochs = ", ".join(map(str, span.epochs))
    parts = [
        f"offsets {span.first_offset}..{span.last_offset}",
        f"leader epoch{'s' if len(span.epochs) > 1 else ''} {epochs}",
        *_times(span),
    ]
    return f"{span.records:,} record{'s' if span.records > 1 else ''} ({', '.join(parts)})"


def _times(span: RecordSpan) -> Iterator[str]:
    if span.min_timestamp is None or span.max_timestamp is None:
        return
    first, last = time_in_words(span.min_timestamp), time_in_words(span.max_timestamp)
    yield f"written {first} UTC" if first == last else f"written {first} to {last} UTC"


def time_in_words(milliseconds: int) -> str:
    """Write a record's timestamp for people; as a number where no calendar has it."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return f"{milliseconds} ms after 1970"
    return f"{moment:%Y-%m-%d %H:%M:%S}"
