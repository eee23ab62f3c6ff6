"""What brokers of a simulated cluster ask their controller for, beside Kafka's messages."""

from typing import NamedTuple
from uuid import UUID

from replication.metadata.image_changes import PartitionId


class AssignedDirectories(NamedTuple):
    """In which directories a broker has put replicas (Kafka: AssignReplicasToDirs)."""

    broker_id: int
    broker_epoch: int
    directories: tuple[tuple[PartitionId, UUID], ...]
