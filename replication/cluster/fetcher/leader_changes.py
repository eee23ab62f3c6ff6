"""What a cluster's metadata says about who leads a partition, compared with what was known. Pure."""

from dataclasses import dataclass
from uuid import UUID

from logstore import TopicPartition
from logstore.files.partition_metadata import format_uuid
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.messages.metadata import ClusterMetadata

NO_BROKER = -1


@dataclass(frozen=True, slots=True)
class KnownLeader:
    """Who leads a partition, as far as known."""

    topic_id: UUID | None = None
    broker_id: int = NO_BROKER
    address: Address | None = None
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True)
class Unknown:
    """The metadata does not help: ask again later."""

    reason: str
    error: ErrorCode = ErrorCode.NONE
    """The broker's, where it sent one."""


@dataclass(frozen=True, slots=True)
class Outdated(Unknown):
    """The metadata is of an older leader than the one known: brokers hear of elections one after the other."""

    leader_epoch: int = -1
    """The older one's."""


@dataclass(frozen=True, slots=True)
class Recreated:
    """The topic was deleted, and another one has its name: nothing of it belongs into the log."""

    reason: str


def leader_of(
    partition: TopicPartition, known: KnownLeader, metadata: ClusterMetadata
) -> KnownLeader | Unknown | Recreated:
    """Find a partition's leader; `known` itself where that is still right.

    What is older than what is known is `Outdated`.
    """
    topic = metadata.topics.get(partition.topic)
    if topic is None:
        return Unknown("the cluster's answer does not name the topic")
    if topic.error is not ErrorCode.NONE:
        return Unknown(f"the cluster answers {topic.error.name} for the topic", topic.error)
    if known.topic_id is not None and topic.topic_id is not None and known.topic_id != topic.topic_id:
        return Recreated(
            f"the topic {partition.topic} was deleted and created again: its id was {format_uuid(known.topic_id)} "
            f"and is {format_uuid(topic.topic_id)} now; follow it into another directory"
        )
    standing = topic.partitions.get(partition.partition)
    if standing is None:
        return Unknown("the topic has no such partition", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if standing.leader_epoch < known.leader_epoch:
        reason = f"the metadata is of leader epoch {standing.leader_epoch}, before {known.leader_epoch}"
        return Outdated(reason, leader_epoch=standing.leader_epoch)
    broker = metadata.brokers.get(standing.leader_id)
    if broker is None:
        return Unknown("it has no leader now", ErrorCode.LEADER_NOT_AVAILABLE)
    found = KnownLeader(
        topic.topic_id or known.topic_id, broker.id, Address(broker.host, broker.port), standing.leader_epoch
    )
    return known if found == known else found
