"""What a reassignment of one partition aims at (KIP-455)."""

from typing import NamedTuple

from replication.controller.refusal import Refusal
from replication.leadership.partition_change import Target, without
from replication.metadata.partition import PartitionRegistration
from replication.protocol.error_code import ErrorCode


def start_target(partition: PartitionRegistration, target_replicas: tuple[int, ...]) -> Target:
    """Return what moves a partition to the target replicas: first all of them, then without the others.

    Where nothing is added, or nothing removed, what an earlier reassignment adds or removes stays as it is (Kafka:
    PartitionReassignmentReplicas).
    """
    removing = tuple(sorted(set(partition.replicas) - set(target_replicas)))
    adding = tuple(sorted(set(target_replicas) - set(partition.replicas)))
    return Target(
        replicas=target_replicas + removing, removing_replicas=removing or None, adding_replicas=adding or None
    )


class Reversal(NamedTuple):
    """The way back from a reassignment that goes on."""

    target: Target
    unclean: bool
    """No old replica is in sync: going back loses records."""


def cancel_target(partition: PartitionRegistration) -> Reversal:
    """Return what brings a partition back to the replicas that it had (Kafka: PartitionReassignmentRevert).

    Raises Refusal with INVALID_REPLICA_ASSIGNMENT where it had none.
    """
    replicas = without(partition.replicas, partition.adding_replicas)
    if not replicas:
        raise Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Invalid replica assignment: addingReplicas contains all replicas.",
        )
    in_sync = without(partition.isr, partition.adding_replicas)
    target = Target(isr=in_sync or replicas[:1], replicas=replicas, removing_replicas=(), adding_replicas=())
    return Reversal(target, unclean=not in_sync)
