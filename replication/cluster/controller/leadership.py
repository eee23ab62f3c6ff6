"""Who leads and who is in sync after brokers come and go, over all partitions that they have to do with."""

from collections.abc import Iterable

from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.controller.partition_index import PartitionKey
from replication.records.leadership.broker_event import BrokerEvent
from replication.records.leadership.partition_change import AS_IT_IS, Election, Target, partition_change
from replication.records.metadata.records import PartitionChangeRecord
from replication.records.metadata.topics import Topic


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
    terms = cluster.terms(topic)
    changed = partition_change(
        state,
        cluster.may_lead(state),
        target=target,
        election=election or terms.election,
        rules=terms.rules,
        min_isr=terms.min_isr,
        default_directory=cluster.default_directory,
    )
    return PartitionChangeRecord(partition_id=partition_id, topic_id=topic.id, **changed) if changed else None


def changes_after(
    cluster: ClusterState, keys: Iterable[PartitionKey], event: BrokerEvent
) -> list[PartitionChangeRecord]:
    """Return the records for the partitions that change with a broker (Kafka: generateLeaderAndIsrUpdates)."""
    active = event.active_after(cluster.active)
    topic: Topic | None = None
    records = []
    for topic_id, partition_id in keys:
        if topic is None or topic.id is not topic_id:
            topic = cluster.image.topics.topic(topic_id)
            terms = cluster.terms(topic)
        state = topic.partitions[partition_id]
        may_lead = cluster.may_lead(state, active.__contains__)
        changed = event.change(state, may_lead, terms, cluster.default_directory)
        if changed:
            records.append(PartitionChangeRecord(partition_id=partition_id, topic_id=topic_id, **changed))
    return records
