"""What a broker that leaves, joins or comes back from a crash means for a partition."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self
from uuid import UUID

from replication.records.leadership.partition_change import ChangedFields, Election, Target, partition_change, without
from replication.records.leadership.rules import Rules
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import NO_LEADER

NOBODY = NO_LEADER


class Terms(NamedTuple):
    """Under which terms a topic's leaders are elected."""

    election: Election
    """UNCLEAN where the topic's settings allow that, else ONLINE."""
    rules: Rules
    min_isr: int


@dataclass(frozen=True, slots=True)
class BrokerEvent:
    """One of three things that happen to a broker; the other two are NOBODY's."""

    leaving: int = NOBODY
    """It is in no ISR any more and leads nothing."""
    joining: int = NOBODY
    """It may lead, although it is fenced still."""
    crashed: int = NOBODY
    """It has come back, perhaps without all of its records, and is not even eligible."""

    @classmethod
    def restart(cls, broker_id: int, *, clean: bool, rules: Rules) -> Self:
        """Return what a broker is that registers as a new incarnation: after a crash it is not eligible (KIP-966)."""
        return cls(leaving=broker_id) if clean or not rules.elr else cls(crashed=broker_id)

    @property
    def is_crash(self) -> bool:
        """Whether the partitions that it is eligible for change too, beside those that it is in sync with."""
        return self.crashed != NOBODY

    def concerns(self, partition: PartitionRegistration) -> bool:
        """Whether the controller looks at a partition at all."""
        if self.joining != NOBODY:
            return not partition.has_leader
        return self.leaving in partition.isr or self.crashed in (*partition.isr, *partition.elr)

    def active_after(self, active: set[int]) -> set[int]:
        """Return who may lead once it has happened."""
        return (active | {self.joining}) - {self.leaving, self.crashed}

    def change(
        self,
        partition: PartitionRegistration,
        may_lead: Callable[[int], bool],
        terms: Terms,
        default_directory: Callable[[int], UUID],
    ) -> ChangedFields:
        """Return what changes in a partition that it concerns, among brokers that may lead once it has happened."""
        gone = (self.leaving, self.crashed)
        return partition_change(
            partition,
            may_lead,
            target=Target(isr=without(partition.isr, gone), unclean_shutdown=(self.crashed,) if self.is_crash else ()),
            election=terms.election,
            rules=terms.rules,
            min_isr=terms.min_isr,
            default_directory=default_directory,
        )
