"""The states of a partition (Kafka: PartitionStateMachine)."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from types import MappingProxyType
from typing import Final

from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr


class PartitionState(Enum):
    """Where a partition stands; the values are Kafka's names."""

    NON_EXISTENT = "NonExistentPartition"
    """Never created, or deleted."""
    NEW = "NewPartition"
    """Assigned to replicas, without a first leader."""
    ONLINE = "OnlinePartition"
    """Led."""
    OFFLINE = "OfflinePartition"
    """Its leader died."""

    def can_become(self, target: "PartitionState") -> bool:
        """Whether this transition is legal."""
        return self in _LEGAL_PREVIOUS[target]


_LEGAL_PREVIOUS: Final[Mapping[PartitionState, frozenset[PartitionState]]] = MappingProxyType(
    {
        PartitionState.NON_EXISTENT: frozenset({PartitionState.OFFLINE}),
        PartitionState.NEW: frozenset({PartitionState.NON_EXISTENT}),
        PartitionState.ONLINE: frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}),
        PartitionState.OFFLINE: frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}),
    }
)


def initial_partition_state(current: LeaderAndIsr | None, live: AbstractSet[int]) -> PartitionState:
    """Return the state of a partition that a new controller finds in the store."""
    if current is None:
        return PartitionState.NEW
    return PartitionState.ONLINE if current.leader in live else PartitionState.OFFLINE
