"""A partition and its replicas, as a cluster's metadata has them when it is looked at."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from logstore.topic_partition import TopicPartition
from replication.wire.error_code import ErrorCode
from replication.wire.messages.metadata import ClusterMetadata


@dataclass(frozen=True, slots=True)
class ReplicatedPartition:
    """Brokers are named by their ids."""

    partition: TopicPartition
    topic_id: UUID | None
    leader: int
    """-1 where none leads."""
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


def broker_name(broker_id: int) -> str:
    """Return what a broker's replicas are called by."""
    return f"broker-{broker_id}"


def partitions_in(metadata: ClusterMetadata) -> Iterator[ReplicatedPartition]:
    """Yield the partitions of all topics that can be described, by name."""
    for name, topic in sorted(metadata.topics.items()):
        if topic.error is not ErrorCode.NONE:
            continue
        for number, told in sorted(topic.partitions.items()):
            yield ReplicatedPartition(
                TopicPartition(name, number), topic.topic_id, told.leader_id, told.leader_epoch, told.replicas, told.isr
            )
