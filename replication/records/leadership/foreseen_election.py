"""Whom a controller elects once brokers start again: what is foreseen of one partition."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from replication.records.leadership.reason import Reason
from replication.records.metadata.partition import LeaderRecoveryState, PartitionRegistration


@dataclass(frozen=True, slots=True)
class ForeseenElection:
    """One way in which the election of a partition's leader may end."""

    leader: int | None
    """The broker's id; None where nobody leads."""
    reason: Reason
    epochs: tuple[int, ...]
    """The leader epoch in which it leads; several where that depends on who is fenced first."""
    isr: tuple[int, ...]
    """Who is in sync then."""
    elr: tuple[int, ...]
    """Who else is eligible then."""

    @property
    def epoch(self) -> int:
        """The lowest leader epoch in which it may lead."""
        return self.epochs[0]

    @property
    def is_unclean(self) -> bool:
        """Whether the leader may lack committed records by what the metadata says."""
        return self.reason in {Reason.LAST_KNOWN_LEADER, Reason.UNCLEAN}

    def as_json(self) -> dict[str, Any]:
        """Return what can be written as JSON."""
        return {
            "leader": self.leader,
            "reason": self.reason.value,
            "epochs": list(self.epochs),
            "isr": list(self.isr),
            "elr": list(self.elr),
            "unclean": self.is_unclean,
        }


@dataclass(frozen=True, slots=True)
class StartOrder:
    """Brokers that start one after another, each once the one before serves, until somebody leads.

    The first of them starts once the controllers run and have fenced all brokers: `broker.session.timeout.ms` later.
    """

    started: tuple[int, ...]
    elections: tuple[ForeseenElection, ...]
    """How that may end: one, unless it depends on who was fenced first."""

    def as_json(self) -> dict[str, Any]:
        """Return what can be written as JSON."""
        return {"started": list(self.started), "elections": [each.as_json() for each in self.elections]}


@dataclass(frozen=True, slots=True)
class ForeseenElections:
    """Whom the controller elects of one partition, by what the metadata says of it and by how brokers stopped."""

    state: PartitionRegistration
    """The partition as the metadata has it."""
    unclean_allowed: bool
    """Whether the settings in the metadata allow an unclean election."""
    min_isr: int
    has_elr: bool
    """Whether the cluster keeps eligible leader replicas."""
    together: tuple[ForeseenElection, ...]
    """How it may end where the controllers and all the given brokers start at once: several where it depends on which
    of them is ready first, for the first that may lead is elected at once."""
    orders: tuple[StartOrder, ...]
    """Each order of starts that ends with a leader, up to the broker whose start decides; the shortest first. Of more
    than five replicas those before it stand in one order alone, where others leave the same."""
    forced: tuple[StartOrder, ...]
    """Each given broker that starts alone, and each set of them among which nobody led before the last one started, in
    one order: with an unclean election asked for where nobody leads then. The smallest sets first."""
    absent: tuple[int, ...]
    """Replicas in the ISR or the ELR that are not among the given brokers: known to have all that is committed."""

    @property
    def is_recovering(self) -> bool:
        """Whether the last election was unclean, and no ISR has grown since: its leader may lack what others have."""
        return self.state.leader_recovery_state == LeaderRecoveryState.RECOVERING

    @property
    def foretold(self) -> ForeseenElection | None:
        """What comes of starting all at once; None where it is not certain who leads then."""
        return self.together[0] if len({each.leader for each in self.together}) == 1 else None

    @property
    def outcomes(self) -> tuple[ForeseenElection, ...]:
        """All that may come, whoever starts first; what comes of starting all at once comes first."""
        return tuple(dict.fromkeys(self._outcomes()))

    def as_json(self) -> dict[str, Any]:
        """Return what can be written as JSON."""
        return {
            "leader": self.state.leader if self.state.has_leader else None,
            "leader_epoch": self.state.leader_epoch,
            "replicas": list(self.state.replicas),
            "isr": list(self.state.isr),
            "elr": list(self.state.elr),
            "last_known_elr": list(self.state.last_known_elr),
            "unclean_allowed": self.unclean_allowed,
            "min_isr": self.min_isr,
            "has_elr": self.has_elr,
            "together": [each.as_json() for each in self.together],
            "orders": [each.as_json() for each in self.orders],
            "forced": [each.as_json() for each in self.forced],
            "absent": list(self.absent),
        }

    def _outcomes(self) -> Iterator[ForeseenElection]:
        yield from self.together
        for order in self.orders:
            yield from order.elections
