"""A partition as a cluster describes it, and the conditions that it is in."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from logstore import TopicPartition
from logstore.files.partition_metadata import format_uuid

NO_LEADER: Final = -1


class Condition(StrEnum):
    """A condition that a partition may be in; the meanings are those of `kafka-topics --describe`."""

    UNAVAILABLE = "unavailable"
    """No leader: it is offline."""
    UNDER_MIN_ISR = "under-min-isr"
    """No leader, or fewer replicas in sync than `min.insync.replicas`: producers with acks=all are refused."""
    AT_MIN_ISR = "at-min-isr"
    """As many in sync as `min.insync.replicas`: if one more falls behind, producers with acks=all are refused."""
    UNDER_REPLICATED = "under-replicated"
    """Fewer in sync than there are replicas; those that a reassignment adds do not count."""
    OFF_PREFERRED = "off-preferred"
    """A replica other than the first leads."""
    REASSIGNING = "reassigning"
    """Replicas are being added or removed."""


TROUBLES: Final = frozenset(
    {Condition.UNAVAILABLE, Condition.UNDER_MIN_ISR, Condition.UNDER_REPLICATED, Condition.OFF_PREFERRED}
)
"""The conditions that need attention. A topic may be configured to be at its minimum when all is well,
and reassignments end by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    """A partition as one broker describes it. Replicas are broker ids."""

    partition: TopicPartition
    topic_id: UUID | None = None
    """None if brokers return none (before Kafka 2.8)."""
    is_internal: bool = False
    leader: int = NO_LEADER
    leader_epoch: int = -1
    replicas: tuple[int, ...] = ()
    """The preferred leader first."""
    isr: tuple[int, ...] = ()
    elr: tuple[int, ...] | None = None
    """Not in sync, yet known to have all that is committed (KIP-966); None if not known."""
    last_known_elr: tuple[int, ...] | None = None
    offline_replicas: tuple[int, ...] = ()
    """On brokers that are down, or on failed disks."""
    adding: tuple[int, ...] = ()
    """Replicas that a reassignment in progress adds."""
    removing: tuple[int, ...] = ()
    min_isr: int | None = None
    """`min.insync.replicas`; None if not known."""

    @property
    def has_leader(self) -> bool:
        """Whether there is a leader."""
        return self.leader != NO_LEADER

    @property
    def is_reassigning(self) -> bool:
        """Whether a reassignment is in progress (Kafka: isReassignmentInProgress)."""
        return not {*self.replicas}.isdisjoint({*self.adding, *self.removing})

    @property
    def is_under_replicated(self) -> bool:
        """Whether fewer are in sync than there are replicas."""
        wanted = len(self.replicas) - (len(self.adding) if self.is_reassigning else 0)
        return wanted > len(self.isr)

    @property
    def is_off_preferred(self) -> bool:
        """Whether a replica other than the first leads."""
        return self.has_leader and self.replicas[:1] != (self.leader,)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions of the partition, without those that depend on `min.insync.replicas` if that is not known."""
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
