"""What a follower would truncate, beside what the running cluster says of the partition."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Self

from replication.base.counted import counted
from replication.copies.planning.living_partition import LivingPartition
from replication.copies.planning.replica import Replica
from replication.copies.planning.truncation_plan import Relation, TruncationPlan


class Electable(StrEnum):
    """How a broker comes to lead a partition. The values are those of `epochlog plan --json`."""

    LEADS = "leads"
    IN_SYNC = "in-sync"
    """A clean election may choose it."""
    ELIGIBLE = "eligible"
    """Out of sync, and known to have all that was committed (KIP-966): a clean election may choose it."""
    UNCLEAN = "unclean"
    """Only an unclean election makes it the leader."""
    NO_REPLICA = "no-replica"
    """The partition is not assigned to it."""
    UNKNOWN = "unknown"
    """Which broker it is is not known."""


@dataclass(frozen=True, slots=True)
class AnsweredPlan:
    """A plan, and the cluster's answer about its partition."""

    plan: TruncationPlan
    living: LivingPartition | None = None
    """None where nobody was asked, or there is no such partition."""
    electable: Electable | None = None
    """How the leader of the plan comes to lead."""
    committed_lost: int | None = None
    """Offsets below the cluster's high watermark that are truncated; None where that is not known."""

    @classmethod
    def of(cls, plan: TruncationPlan, living: LivingPartition | None, leader: Replica, follower: Replica) -> Self:
        """Hold a plan against the answer."""
        if living is None:
            return cls(plan)
        lost = committed_lost(plan, living, leader.node_id, follower.node_id)
        return cls(plan, living, electable(living, leader.node_id), lost)

    def as_json(self) -> dict[str, Any]:
        """Return it as `epochlog plan --json` prints it."""
        return {
            **self.plan.as_json(),
            "cluster": self.living and self.living.as_json(),
            "electable": self.electable and self.electable.value,
            "committed_lost": self.committed_lost,
        }

    def sentences(self, leader: str) -> Iterator[str]:
        """Yield what the answer means, where the plan costs anything; `leader` is the name of who is to lead."""
        if self.living is None or self.electable is None or not self.plan.is_costly:
            return
        yield f"{self.plan.topic}-{self.plan.partition} by the cluster: {self.living}"
        yield f"{leader} {self._comes_to_lead(self.living)}"
        if self.committed_lost is None:
            yield "how much of what is lost is committed, the cluster's answers do not show"
        else:
            yield f"{counted(self.committed_lost, 'offset')} of what is lost are below the high watermark: committed"

    def _comes_to_lead(self, living: LivingPartition) -> str:
        if self.electable is not Electable.UNCLEAN:
            return _HOW[self.electable or Electable.UNKNOWN]
        by_itself = "the controller holds by itself" if living.unclean_allowed else "somebody has to ask for"
        return f"can lead only by an unclean election, which {by_itself} (unclean.leader.election.enable)"


_HOW: Final = {
    Electable.LEADS: "leads",
    Electable.IN_SYNC: "is in sync: a clean election may choose it",
    Electable.ELIGIBLE: "is eligible: a clean election may choose it",
    Electable.NO_REPLICA: "cannot lead: the partition is not assigned to it",
    Electable.UNKNOWN: "is of a broker that is not known: its meta.properties does not say which",
}


def electable(living: LivingPartition, broker: int | None) -> Electable:
    """Return how a broker comes to lead."""
    if broker is None:
        return Electable.UNKNOWN
    if broker not in living.replicas:
        return Electable.NO_REPLICA
    if broker == living.leader:
        return Electable.LEADS
    if broker in living.isr:
        return Electable.IN_SYNC
    return Electable.ELIGIBLE if broker in (living.elr or ()) else Electable.UNCLEAN


def committed_lost(
    plan: TruncationPlan, living: LivingPartition, leader: int | None, follower: int | None
) -> int | None:
    """Return how many committed offsets the follower would cut off; None where the answer does not show it.

    What was committed is the log of the broker that leads by now, up to its high watermark.
    """
    if living.high_watermark is None or living.leader is None:
        return None
    end = min(living.high_watermark, plan.log_end_offset)
    if plan.truncate_to >= end:
        return 0
    if follower == living.leader:
        return end - plan.truncate_to
    # A copy of the leader that is merely older than its log would cut off what the leader has got since.
    return 0 if leader == living.leader and plan.relation is Relation.FORKED else None
