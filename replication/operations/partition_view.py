"""A partition as a cluster tells of it, and what is to be said of its state."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from logstore import TopicPartition
from logstore.files.partition_metadata import format_uuid

NO_LEADER: Final = -1


class Condition(StrEnum):
    """What may be so of a partition; the meanings are those of `kafka-topics --describe`."""

    UNAVAILABLE = "unavailable"
    """Nobody leads: it is offline."""
    UNDER_MIN_ISR = "under-min-isr"
    """Nobody leads, or fewer are in sync than `min.insync.replicas`: producers with acks=all are refused."""
    AT_MIN_ISR = "at-min-isr"
    """As many are in sync as `min.insync.replicas`: the next that falls behind stops producers with acks=all."""
    UNDER_REPLICATED = "under-replicated"
    """Fewer are in sync than there are to be; what a reassignment adds does not count."""
    OFF_PREFERRED = "off-preferred"
    """Another than the first replica leads."""
    REASSIGNING = "reassigning"
    """Replicas are being added or removed."""


TROUBLES: Final = frozenset(
    {Condition.UNAVAILABLE, Condition.UNDER_MIN_ISR, Condition.UNDER_REPLICATED, Condition.OFF_PREFERRED}
)
"""The conditions that somebody should look after. A topic may be made such that it is at its minimum when all is well,
and reassignments end by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    """A partition as one broker tells of it. Replicas are broker ids."""

    partition: TopicPartition
    topic_id: UUID | None = None
    """None where brokers tell none (before Kafka 2.8)."""
    is_internal: bool = False
    leader: int = NO_LEADER
    leader_epoch: int = -1
    replicas: tuple[int, ...] = ()
    """The preferred leader first."""
    isr: tuple[int, ...] = ()
    elr: tuple[int, ...] | None = None
    """Not in sync, yet known to have all that is committed (KIP-966); None where it is not told."""
    last_known_elr: tuple[int, ...] | None = None
    offline_replicas: tuple[int, ...] = ()
    """On brokers that are down, or on failed disks."""
    adding: tuple[int, ...] = ()
    """What a reassignment that goes on adds."""
    removing: tuple[int, ...] = ()
    min_isr: int | None = None
    """`min.insync.replicas`; None where it is not told."""

    @property
    def has_leader(self) -> bool:
        """Whether anybody leads."""
        return self.leader != NO_LEADER

    @property
    def is_reassigning(self) -> bool:
        """Whether a reassignment goes on (Kafka: isReassignmentInProgress)."""
        return not {*self.replicas}.isdisjoint({*self.adding, *self.removing})

    @property
    def is_under_replicated(self) -> bool:
        """Whether fewer are in sync than there are to be."""
        wanted = len(self.replicas) - (len(self.adding) if self.is_reassigning else 0)
        return wanted > len(self.isr)

    @property
    def is_off_preferred(self) -> bool:
        """Whether another leads than the first replica."""
        return self.has_leader and self.replicas[:1] != (self.leader,)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All that is so of the partition. What depends on `min.insync.replicas` is left out where that is not told."""
        so = {
            Condition.UNAVAILABLE: not self.has_leader,
            Condition.UNDER_MIN_ISR: self.min_isr is not None and (not self.has_leader or len(self.isr) < self.min_isr),
            Condition.AT_MIN_ISR: self.min_isr == len(self.isr),
            Condition.UNDER_REPLICATED: self.is_under_replicated,
            Condition.OFF_PREFERRED: self.is_off_preferred,
            Condition.REASSIGNING: self.is_reassigning,
        }
        return tuple(condition for condition, holds in so.items() if holds)

    def as_json(self) -> Mapping[str, Any]:
        """Return what can be written as JSON."""
        return {
            "topic": self.partition.topic,
            "topic_id": self.topic_id and format_uuid(self.topic_id),
            "partition": self.partition.partition,
            "leader": self.leader if self.has_leader else None,
            "leader_epoch": self.leader_epoch,
            "replicas": self.replicas,
            "isr": self.isr,
            "elr": self.elr,
            "last_known_elr": self.last_known_elr,
            "offline_replicas": self.offline_replicas,
            "adding_replicas": self.adding,
            "removing_replicas": self.removing,
            "min_insync_replicas": self.min_isr,
            "conditions": self.conditions,
        }
