"""Which brokers hold a partition, and which it is on its way to (Kafka: ReplicaAssignment)."""

from collections.abc import Iterable
from typing import NamedTuple


class ReplicaAssignment(NamedTuple):
    """All replicas in the order of preference, and those that a reassignment adds and removes."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def origin(self) -> tuple[int, ...]:
        """Where the reassignment began."""
        return _without(self.replicas, self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """Where the reassignment leads."""
        return _without(self.replicas, self.removing)

    @property
    def is_being_reassigned(self) -> bool:
        """Whether replicas are still to come or to go."""
        return bool(self.adding or self.removing)

    def reassign_to(self, target: Iterable[int]) -> "ReplicaAssignment":
        """Return what leads to the target: its replicas first, then those that will go."""
        target = tuple(target)
        replicas = tuple(dict.fromkeys(target + self.origin))
        return ReplicaAssignment(replicas, _without(replicas, self.origin), _without(replicas, target))

    def cancelled(self) -> "ReplicaAssignment":
        """Return what leads back to where the reassignment began."""
        return self.reassign_to(self.origin)

    def with_replica(self, broker_id: int) -> "ReplicaAssignment":
        """Return this one with a replica at its end, unless it is there."""
        return self if broker_id in self.replicas else self._replace(replicas=(*self.replicas, broker_id))

    def without_replica(self, broker_id: int) -> "ReplicaAssignment":
        """Return this one without a replica."""
        return ReplicaAssignment(*(_without(each, (broker_id,)) for each in self))


def _without(these: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(each for each in these if each not in others)
