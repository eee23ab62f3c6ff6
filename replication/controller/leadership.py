"""Who leads and who is in sync after brokers come and go, over all partitions that they have to do with."""

from collections.abc import Iterable

from replication.controller.cluster_state import ClusterState
from replication.controller.partition_change import AS_IT_IS, Election, Target, partition_change, without
from replication.controller.partition_index import PartitionKey
from replication.metadata.records import NO_LEADER, PartitionChangeRecord
from replication.metadata.topics import Topic

NOBODY = NO_LEADER


def change_of(
    cluster: ClusterState,
    topic: Topic,
    partition_id: int,
    *,
    target: Target = AS_IT_IS,
    election: Election | None = None,
) -> PartitionChangeRecord | None:
    """Return the record that changes a partition, or None where nothing changes.

    Without an `election` it is ONLINE, or UNCLEAN where the topic's settings allow that.
    """
    state = topic.partitions[partition_id]
    changed = partition_change(
        state,
        cluster.may_lead(state),
        target=target,
        election=election or _allowed(cluster, topic),
        rules=cluster.rules,
        min_isr=_min_isr(cluster, topic),
        default_directory=cluster.default_directory,
    )
    return PartitionChangeRecord(partition_id=partition_id, topic_id=topic.id, **changed) if changed else None


def changes_after(
    cluster: ClusterState,
    keys: Iterable[PartitionKey],
    *,
    leaving: int = NOBODY,
    joining: int = NOBODY,
    crashed: int = NOBODY,
) -> list[PartitionChangeRecord]:
    """Return the records for the partitions that change (Kafka: generateLeaderAndIsrUpdates).

    A broker that is `leaving` is in no ISR any more and leads nothing; one that is `joining` may lead although it is
    fenced still; one that `crashed` has come back, perhaps without all of its records, and is not even eligible.
    """
    active = (cluster.active | {joining}) - {leaving, crashed}
    shut_down = () if crashed == NOBODY else (crashed,)
    topic: Topic | None = None
    records = []
    for topic_id, partition_id in keys:
        if topic is None or topic.id is not topic_id:
            topic = cluster.image.topics.topic(topic_id)
            election = _allowed(cluster, topic)
            min_isr = _min_isr(cluster, topic)
        state = topic.partitions[partition_id]
        changed = partition_change(
            state,
            cluster.may_lead(state, active.__contains__),
            target=Target(isr=without(state.isr, (leaving, crashed)), unclean_shutdown=shut_down),
            election=election,
            rules=cluster.rules,
            min_isr=min_isr,
            default_directory=cluster.default_directory,
        )
        if changed:
            records.append(PartitionChangeRecord(partition_id=partition_id, topic_id=topic_id, **changed))
    return records


def _min_isr(cluster: ClusterState, topic: Topic) -> int:
    """Return the setting where the rules ask for it."""
    return cluster.min_isr(topic) if cluster.rules.elr else 1


def _allowed(cluster: ClusterState, topic: Topic) -> Election:
    return Election.UNCLEAN if cluster.unclean_allowed(topic) else Election.ONLINE
