"""What groups have committed, by a copy of a `__consumer_offsets` partition, and how far they have read for certain."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from logstore.batch.any_batch import Batch
from logstore.batch.record import Record
from logstore.topic_partition import TopicPartition
from replication.copies.audit.comparison.examined_copy import ExaminedCopy
from replication.copies.audit.coordinators.consumer_offsets import CommittedOffset, CommittedOffsets
from replication.copies.audit.coordinators.copy_records import read_records
from replication.copies.audit.snapshots.registered import ReadPosition, Registered, Registrations
from replication.records.coordinator_records.offset_commit import GroupPartition


def commits_in(copy: ExaminedCopy) -> Mapping[GroupPartition, CommittedOffset]:
    """Read a copy of a `__consumer_offsets` partition, and return what each group has committed last.

    What cannot be read is passed over: the findings of the audit report it.
    """
    commits = CommittedOffsets()

    def take(batch: Batch, record: Record) -> None:
        commits.add(
            record,
            producer_id=batch.producer_id,
            is_transactional=batch.is_transactional,
            is_control=batch.is_control,
        )

    read_records(copy, take)
    return commits.known


def read_positions(
    committed: Iterable[tuple[GroupPartition, CommittedOffset]],
) -> dict[TopicPartition, tuple[ReadPosition, ...]]:
    """Return how far groups have read each partition: in each leader epoch the furthest of them.

    A commit that names no epoch does not prove that anything was read: whoever sets offsets by hand names none.
    """
    furthest: dict[TopicPartition, dict[int, int]] = {}
    for place, (offset, epoch) in committed:
        if epoch >= 0:
            epochs = furthest.setdefault(TopicPartition(place.topic, place.partition), {})
            epochs[epoch] = max(offset, epochs.get(epoch, 0))
    return {
        partition: tuple(ReadPosition(offset, epoch) for epoch, offset in epochs.items())
        for partition, epochs in furthest.items()
    }


def with_read_positions(
    registered: Registrations, read: Mapping[TopicPartition, Sequence[ReadPosition]]
) -> Registrations:
    """Add to what the cluster says of partitions how far groups have read them."""
    added = {each: replace(registered.get(each, Registered(None)), read_to=tuple(to)) for each, to in read.items()}
    return {**registered, **added}
