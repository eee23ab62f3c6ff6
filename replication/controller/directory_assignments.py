"""In which of a broker's directories its replicas lie (Kafka: AssignReplicasToDirs, KIP-858)."""

from uuid import UUID

from replication.controller.brokers.broker_registry import registered
from replication.controller.cluster_state import ClusterState
from replication.controller.decision import Decision
from replication.controller.refusal import Refusal
from replication.metadata.partition import PartitionRegistration
from replication.metadata.records import MetadataRecord, PartitionChangeRecord
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    PlacedReplica,
    PlacementAnswer,
)


def assign_directories(cluster: ClusterState, request: AssignReplicasToDirsRequest) -> Decision[list[PlacementAnswer]]:
    """Note where a broker has put replicas; those that are not its own are refused each.

    Refuses all of them with STALE_BROKER_EPOCH, and with UNSUPPORTED_VERSION where the metadata names no directories.
    """
    registered(cluster, request.broker_id, request.broker_epoch)
    if not cluster.rules.directories:
        raise Refusal(ErrorCode.UNSUPPORTED_VERSION, "Directory assignment is not supported yet.")
    records: list[MetadataRecord] = []
    answers = [
        PlacementAnswer(*placed, _assign(cluster, request.broker_id, placed, records)) for placed in request.replicas
    ]
    return Decision(records, answers)


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
