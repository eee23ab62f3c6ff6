"""In which of a broker's directories its replicas lie (Kafka: AssignReplicasToDirs, KIP-858)."""

from collections.abc import Iterable
from uuid import UUID

from replication.cluster.controller.brokers.broker_registry import registered
from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.leadership import changes_after
from replication.cluster.controller.partition_index import PartitionKey
from replication.cluster.controller.refusal import Refusal
from replication.records.leadership.broker_event import BrokerEvent
from replication.records.metadata.nodes import BrokerRegistration
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import (
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    MetadataRecord,
    PartitionChangeRecord,
)
from replication.wire.error_code import ErrorCode
from replication.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    PlacedReplica,
    PlacementAnswer,
)


def assign_directories(cluster: ClusterState, request: AssignReplicasToDirsRequest) -> Decision[list[PlacementAnswer]]:
    """Note where a broker has put replicas; those that are not its own are refused each.

    What lies in a directory that has failed leaves the ISR: the broker may have told that before (KIP-858).

    Refuses all of them with STALE_BROKER_EPOCH, and with UNSUPPORTED_VERSION where the metadata names no directories.
    """
    broker = registered(cluster, request.broker_id, request.broker_epoch)
    if not cluster.rules.directories:
        raise Refusal(ErrorCode.UNSUPPORTED_VERSION, "Directory assignment is not supported yet.")
    records: list[MetadataRecord] = []
    answers = [
        PlacementAnswer(*placed, _assign(cluster, request.broker_id, placed, records)) for placed in request.replicas
    ]
    lost = _lost(cluster, broker, zip(request.replicas, answers, strict=True))
    return Decision([*records, *changes_after(cluster, lost, BrokerEvent(leaving=broker.id))], answers)


def _lost(
    cluster: ClusterState, broker: BrokerRegistration, placed: Iterable[tuple[PlacedReplica, PlacementAnswer]]
) -> list[PartitionKey]:
    """Return what the broker has put in directories that do not work by its registration, and is in sync there."""
    if not broker.directories:
        return []
    working = {*broker.directories, UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY}
    lost = dict.fromkeys(
        PartitionKey(each.topic_id, each.partition)
        for each, answer in placed
        if answer.error is ErrorCode.NONE and each.directory_id not in working
    )
    return [key for key in lost if broker.id in cluster.partition(key).isr]


def _assign(cluster: ClusterState, broker_id: int, placed: PlacedReplica, records: list[MetadataRecord]) -> ErrorCode:
    topic = cluster.image.topics.by_id.get(placed.topic_id)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    partition = topic.partitions.get(placed.partition)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker_id not in partition.replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if partition.directory_of(broker_id) != placed.directory_id:
        named = _with(partition, broker_id, placed.directory_id)
        records.append(
            PartitionChangeRecord(partition_id=placed.partition, topic_id=placed.topic_id, directories=named)
        )
    return ErrorCode.NONE


def _with(partition: PartitionRegistration, broker_id: int, directory: UUID) -> tuple[UUID, ...]:
    known = zip(partition.replicas, partition.directories, strict=True)
    return tuple(directory if replica == broker_id else each for replica, each in known)
