"""A partition whose leader decides what is lost: what each choice costs, and what a start of brokers elects."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeVar

from replication.base.json_object import Json
from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.judgement.elected import choices_of

Key = TypeVar("Key")
NOBODY = None
"""Nobody leads."""
Leaders = frozenset[str | None]
"""Whose copies may lead then, or NOBODY: several where it depends on what nobody knows."""


@dataclass(frozen=True)
class Contest:
    """A partition, with the copies at hand by their brokers' names.

    >>> contest.after(("broker-2",)), contest.costs["broker-2"]
    """

    topic: str
    number: int
    costs: Mapping[str, Cost]
    """By whose copy leads."""
    is_told: bool = False
    """Whether the files show whom the controller elects."""
    together: Leaders = frozenset()
    """Once all brokers at hand start at once."""
    orders: Mapping[tuple[str, ...], Leaders] | None = None
    """Once these have started one after another: the start of the last one decides."""
    forced: Mapping[frozenset[str], Leaders] | None = None
    """Once these run, and an unclean election was asked for where nobody led."""
    absent: tuple[int, ...] = ()
    """Brokers that are not at hand, and known to have all that was committed."""

    @property
    def name(self) -> str:
        """The partition's name."""
        return f"{self.topic}-{self.number}"

    @cached_property
    def least(self) -> Cost:
        """What is lost whoever leads."""
        return min(self.costs.values())

    @cached_property
    def best(self) -> frozenset[str]:
        """Under whose copies least is lost."""
        return frozenset(name for name, cost in self.costs.items() if cost == self.least)

    @property
    def is_settled(self) -> bool:
        """Whether least is lost, whichever of the brokers at hand is ready first when all start at once."""
        return self.is_told and bool(self.together) and self.together <= self.best

    @property
    def waits_for_an_unclean_election(self) -> bool:
        """Whether it does not matter who leads, and perhaps nobody does before that."""
        return self.is_told and self.best == self.costs.keys() and NOBODY in self.together

    def after(self, started: tuple[str, ...]) -> Leaders | None:
        """Return who leads once these have started in this order; None where nobody does so far."""
        if not self.is_told:
            # Whoever starts alone is the only one that can lead, be it by an unclean election.
            return None
        return self._after.get((frozenset(started[:-1]), started[-1]))

    @cached_property
    def _after(self) -> Mapping[tuple[frozenset[str], str], Leaders]:
        """By the broker whose start decides, and those before it: of many replicas one of their orders is listed."""
        return _merged(((frozenset(before), last), leaders) for (*before, last), leaders in (self.orders or {}).items())

    def forced_after(self, started: Iterable[str]) -> Leaders:
        """Return who leads once these have started and an unclean election was requested; empty where unknown."""
        running = frozenset(started)
        return (self.forced or {}).get(running, frozenset()) if self.is_told else running

    @classmethod
    def of(cls, partition: Json, names: Mapping[int, str]) -> Self:
        """Create it from a partition's object of `epochlog audit --json`, with brokers' names by id."""
        costs = {each["replica"]: Cost.of(each) for each in choices_of(partition) if each["lost"] is not None}
        election = partition.get("election") or {}
        return cls(
            topic=partition["topic"],
            number=partition["partition"],
            costs=costs,
            is_told=bool(election) and election["why_unknown"] is None,
            together=_leaders(election.get("together", ()), names),
            orders=dict(_starts(election.get("orders", ()), names)),
            forced=_merged((frozenset(run), led) for run, led in _starts(election.get("forced", ()), names)),
            absent=tuple(election.get("absent", ())),
        )


def _leaders(elections: Sequence[Json], names: Mapping[int, str]) -> Leaders:
    return frozenset(_name(each["leader"], names) for each in elections)


def _starts(orders: Sequence[Json], names: Mapping[int, str]) -> Iterator[tuple[tuple[str, ...], Leaders]]:
    for each in orders:
        yield tuple(_name(one, names) or "" for one in each["started"]), _leaders(each["elections"], names)


def _merged(told: Iterable[tuple[Key, Leaders]]) -> Mapping[Key, Leaders]:
    """Merge the leaders of several orders that are the same by a key."""
    found: dict[Key, Leaders] = {}
    for key, leaders in told:
        found[key] = found.get(key, frozenset()) | leaders
    return found


def _name(broker: int | None, names: Mapping[int, str]) -> str | None:
    return NOBODY if broker is None else names.get(broker, f"broker {broker}")
