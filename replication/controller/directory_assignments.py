"""In which of a broker's directories its replicas lie (Kafka: AssignReplicasToDirs, KIP-858)."""

from collections.abc import Mapping
from uuid import UUID

from replication.controller.brokers.broker_registry import registered
from replication.controller.cluster_state import ClusterState
from replication.controller.decision import Decision
from replication.controller.partition_index import PartitionKey
from replication.metadata.partition import PartitionRegistration
from replication.metadata.records import MetadataRecord, PartitionChangeRecord


def assign_directories(
    cluster: ClusterState, broker_id: int, broker_epoch: int, directories: Mapping[PartitionKey, UUID]
) -> Decision[None]:
    """Note where a broker has put replicas; those that are not its own any more are passed over.

    Refuses with STALE_BROKER_EPOCH.
    """
    registered(cluster, broker_id, broker_epoch)
    if not cluster.rules.directories:
        return Decision([], None)
    records: list[MetadataRecord] = []
    for key, directory in directories.items():
        topic = cluster.image.topics.by_id.get(key.topic_id)
        partition = None if topic is None else topic.partitions.get(key.partition_id)
        if partition is not None and broker_id in partition.replicas and partition.directory_of(broker_id) != directory:
            named = _with(partition, broker_id, directory)
            records.append(
                PartitionChangeRecord(partition_id=key.partition_id, topic_id=key.topic_id, directories=named)
            )
    return Decision(records, None)


def _with(partition: PartitionRegistration, broker_id: int, directory: UUID) -> tuple[UUID, ...]:
    known = zip(partition.replicas, partition.directories, strict=True)
    return tuple(directory if replica == broker_id else each for replica, each in known)
