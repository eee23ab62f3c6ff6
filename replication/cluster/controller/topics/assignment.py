"""Replicas that the caller assigns by hand."""

from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.controller.refusal import Refusal
from replication.wire.error_code import ErrorCode


def check_assignment(cluster: ClusterState, replicas: tuple[int, ...], replication_factor: int | None = None) -> None:
    """Refuse with INVALID_REPLICA_ASSIGNMENT a list that no partition can have.

    With a `replication_factor`, also one of another length.
    """
    if not replicas:
        raise invalid_assignment("The manual partition assignment includes an empty replica list.")
    for previous, broker_id in zip((None, *sorted(replicas)), sorted(replicas), strict=False):
        broker = cluster.image.brokers.get(broker_id)
        if broker is None:
            raise invalid_assignment(
                f"The manual partition assignment includes broker {broker_id}, but no such broker is registered."
            )
        if not broker.takes_replicas:
            raise invalid_assignment(
                f"The manual partition assignment includes broker {broker_id}, but all its log directories are "
                "cordoned."
            )
        if broker_id == previous:
            raise invalid_assignment(f"The manual partition assignment includes the broker {broker_id} more than once.")
    if replication_factor is not None and len(replicas) != replication_factor:
        raise invalid_assignment(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not "
            f"consistent with previous partitions, which have {replication_factor} replica(s)."
        )


def invalid_assignment(message: str) -> Refusal:
    """Return the refusal of an assignment."""
    return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
