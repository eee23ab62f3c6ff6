"""Whether a replica lies on a disk that works (KIP-858)."""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY

_NOT_SAID_YET: Final = frozenset({UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY})


def has_working_copy(partition: PartitionRegistration, broker_id: int, working: Collection[UUID]) -> bool:
    """Whether a broker is a replica, and none of its failed disks has the partition.

    `working` are its directories that work; without any it has not reported them. Who was reassigned away may still be
    the last known leader, and must not lead what it has deleted.
    """
    if broker_id not in partition.replicas:
        return False
    directory = partition.directory_of(broker_id)
    return not working or directory in working or directory in _NOT_SAID_YET
