"""The states of a replica (Kafka: ReplicaStateMachine)."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple

from logstore.topic_partition import TopicPartition


class Replica(NamedTuple):
    """One broker's copy of a partition (Kafka: PartitionAndReplica)."""

    partition: TopicPartition
    broker_id: int

    def __str__(self) -> str:
        return f"{self.partition} on broker {self.broker_id}"


class ReplicaState(Enum):
    """Where a replica stands; the values are Kafka's names."""

    NON_EXISTENT = "NonExistentReplica"
    NEW = "NewReplica"
    """Just assigned: it can only follow."""
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    """Its broker died, or was asked to stop it."""
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"
    """It cannot be deleted for now: its broker is dead or failed to."""

    def can_become(self, target: "ReplicaState") -> bool:
        """Whether this transition is legal."""
        return self in _LEGAL_PREVIOUS[target]


_ASSIGNED: Final = frozenset(
    {ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.OFFLINE, ReplicaState.DELETION_INELIGIBLE}
)
_LEGAL_PREVIOUS: Final[Mapping[ReplicaState, frozenset[ReplicaState]]] = MappingProxyType(
    {
        ReplicaState.NEW: frozenset({ReplicaState.NON_EXISTENT}),
        ReplicaState.ONLINE: _ASSIGNED,
        ReplicaState.OFFLINE: _ASSIGNED,
        ReplicaState.DELETION_STARTED: frozenset({ReplicaState.OFFLINE}),
        ReplicaState.DELETION_SUCCESSFUL: frozenset({ReplicaState.DELETION_STARTED}),
        ReplicaState.DELETION_INELIGIBLE: frozenset({ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED}),
        ReplicaState.NON_EXISTENT: frozenset({ReplicaState.DELETION_SUCCESSFUL}),
    }
)


def initial_replica_state(broker_id: int, live: AbstractSet[int]) -> ReplicaState:
    """Return the state of a replica that a new controller finds in the store.

    One on a dead broker may be in the middle of its deletion, so none is begun before the broker returns.
    """
    return ReplicaState.ONLINE if broker_id in live else ReplicaState.DELETION_INELIGIBLE
