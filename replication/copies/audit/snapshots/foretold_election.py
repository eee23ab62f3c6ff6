"""Whom Kafka elects of a partition, as far as the files show it: the cluster's metadata, and how brokers stopped."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from replication.records.leadership.foreseen_election import ForeseenElection, ForeseenElections, StartOrder

NO_METADATA: Final = (
    "none of the directories holds the cluster's metadata, __cluster_metadata-0, of which each broker and controller "
    "keeps a copy, unless the cluster uses ZooKeeper"
)

RUNNING: Final = "the brokers run, and how they will stop is not known"


@dataclass(frozen=True, slots=True)
class ForetoldElection:
    """What the controller does with one partition once brokers start; or why the files do not show it."""

    why_unknown: str | None = NO_METADATA
    """None where it is known."""
    metadata_of: str | None = None
    """The replica whose copy of the metadata shows it."""
    is_complete: bool = False
    """Whether that copy has all that was committed; else what was decided last may be missing from it."""
    foreseen: "ForeseenElections | None" = None
    names: Mapping[int, str] = field(default_factory=dict)
    """The replicas' names by their brokers' ids, as far as their directories are at hand."""
    voters: tuple[int, ...] = ()
    """The nodes that have a vote as controllers; a broker may be among them."""

    @property
    def leaders(self) -> tuple[str, ...]:
        """Who may lead once all brokers at hand start together, by name; brokers that are not at hand cannot."""
        return self._names(self.foreseen.together if self.foreseen else ())

    @property
    def leader(self) -> str | None:
        """Who leads then, where that is certain."""
        foretold = self.foreseen.foretold if self.foreseen else None
        return self.names.get(foretold.leader) if foretold and foretold.leader is not None else None

    @property
    def all_leaders(self) -> tuple[str, ...]:
        """Who leads under any order of starts, or once it runs alone by an unclean election, by name."""
        if self.foreseen is None:
            return ()
        forced = (election for order in self.foreseen.forced for election in order.elections)
        return self._names((*self.foreseen.outcomes, *forced))

    @property
    def lacks_everybody_eligible(self) -> bool:
        """Whether no replica that is known to have everything is at hand, although there is one."""
        if self.foreseen is None:
            return False
        eligible = {*self.foreseen.state.isr, *self.foreseen.state.elr}
        return bool(self.foreseen.absent) and eligible <= {*self.foreseen.absent}

    def without_orders(self) -> "ForetoldElection":
        """Leave out in which order brokers start: where nothing is at stake nobody asks."""
        foreseen = self.foreseen and replace(self.foreseen, orders=(), forced=())
        return replace(self, foreseen=foreseen)

    def as_json(self) -> dict[str, Any]:
        """Return the election as `--json` prints it."""
        told = self.foreseen
        state = told.state if told else None
        return {
            "why_unknown": self.why_unknown,
            "metadata_of": self.metadata_of,
            "is_complete": self.is_complete,
            "together": [self._outcome(each) for each in (told.together if told else ())],
            "orders": [*self._orders(told.orders if told else ())],
            "forced": [*self._orders(told.forced if told else ())],
            "absent": list(told.absent) if told else [],
            "voters": list(self.voters),
            "unclean_allowed": told.unclean_allowed if told else None,
            "min_isr": told.min_isr if told else None,
            "has_elr": told.has_elr if told else None,
            "leader": state.leader if state and state.has_leader else None,
            "leader_epoch": state.leader_epoch if state else None,
            "replicas": list(state.replicas) if state else [],
            "isr": list(state.isr) if state else [],
            "elr": list(state.elr) if state else [],
            "last_known_elr": list(state.last_known_elr) if state else [],
            "is_recovering": told.is_recovering if told else None,
        }

    def _names(self, elections: "tuple[ForeseenElection, ...]") -> tuple[str, ...]:
        names = (self.names.get(each.leader) for each in elections if each.leader is not None)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def _orders(self, orders: "tuple[StartOrder, ...]") -> Iterator[dict[str, Any]]:
        for order in orders:
            yield {"started": list(order.started), "elections": [self._outcome(each) for each in order.elections]}

    def _outcome(self, election: "ForeseenElection") -> dict[str, Any]:
        leader = election.leader
        return {"replica": None if leader is None else self.names.get(leader), **election.as_json()}


UNTOLD: Final = ForetoldElection()
