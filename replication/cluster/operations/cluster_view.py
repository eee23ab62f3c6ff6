"""A cluster as it describes itself: its brokers, its quorum of controllers, and its partitions."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

from replication.cluster.operations.partition_filter import PartitionFilter
from replication.cluster.operations.partition_view import TROUBLES, Condition, PartitionView
from replication.cluster.operations.quorum_view import QuorumView
from replication.records.metadata.configurations import MIN_IN_SYNC_REPLICAS
from replication.wire.addresses import Address


class Aspect(StrEnum):
    """What a cluster may not return, because of its version or for lack of permission."""

    FENCED = "fenced brokers"
    ELR = "eligible leader replicas"
    MIN_ISR = MIN_IN_SYNC_REPLICAS
    REASSIGNMENTS = "reassignments"
    QUORUM = "quorum"


@dataclass(frozen=True, slots=True)
class Gap:
    """Why an aspect is not known, or not for all partitions."""

    aspect: Aspect
    reason: str
    is_failure: bool
    """Whether it was refused or not answered; otherwise brokers of that version cannot return it."""

    def __str__(self) -> str:
        return f"not known: {self.aspect}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerView:
    """A registered broker."""

    id: int
    address: Address
    rack: str | None = None
    is_fenced: bool | None = None
    """Whether it may neither lead nor be in sync; None if not known."""
    leaders: int = 0
    """How many partitions it leads."""
    replicas: int = 0
    """How many partitions it is a replica of."""

    def as_json(self) -> Mapping[str, Any]:
        """Return what can be written as JSON."""
        return {
            "id": self.id,
            "host": self.address.host,
            "port": self.address.port,
            "rack": self.rack,
            "fenced": self.is_fenced,
            "leaders": self.leaders,
            "replicas": self.replicas,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """All that was returned. It is not a snapshot of one moment: a cluster changes between the requests."""

    cluster_id: str
    controller_id: int | None = None
    """The controller, or -1, with ZooKeeper; None with KRaft."""
    quorum: QuorumView | None = None
    brokers: tuple[BrokerView, ...] = ()
    partitions: tuple[PartitionView, ...] = ()
    gaps: tuple[Gap, ...] = ()

    def showing(self, chosen: PartitionFilter) -> Self:
        """Return the same view with only the selected partitions."""
        return replace(self, partitions=tuple(filter(chosen.keeps, self.partitions)))

    @property
    def conditions(self) -> Counter[Condition]:
        """How many partitions are in each condition."""
        return Counter(condition for partition in self.partitions for condition in partition.conditions)

    @property
    def has_troubled_partitions(self) -> bool:
        """Whether a partition needs attention."""
        return not TROUBLES.isdisjoint(self.conditions)

    @property
    def has_troubles(self) -> bool:
        """Whether a partition, a broker or the quorum needs attention."""
        return (
            self.has_troubled_partitions
            or any(broker.is_fenced for broker in self.brokers)
            or (self.quorum is not None and self.quorum.leader is None)
        )

    def as_json(self) -> Mapping[str, Any]:
        """Return what can be written as JSON."""
        conditions = self.conditions
        return {
            "cluster_id": self.cluster_id,
            "controller": self.controller_id,
            "quorum": self.quorum and self.quorum.as_json(),
            "brokers": [broker.as_json() for broker in self.brokers],
            "partition_count": len(self.partitions),
            "conditions": {condition: conditions[condition] for condition in Condition},
            "partitions": [partition.as_json() for partition in self.partitions],
            "not_known": {gap.aspect: gap.reason for gap in self.gaps},
        }
