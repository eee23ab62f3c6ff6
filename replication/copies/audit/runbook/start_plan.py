"""In which order brokers start so that least is lost, and where an unclean election has to be asked for: decided here.

Who leads is steered by which brokers run: Kafka's elections are asked for by partitions, and not by leaders. So a
broker under which more is lost stays stopped until another one leads.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Final, NamedTuple

from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.runbook.contest import NOBODY, Contest, Leaders

MOST_PERMUTED: Final = 5
"""Brokers of which all orders are looked at.

Of more, the one that costs least as the next is taken each time, and then one broker is given another place, as long as
less is lost by that. In 60 random incidents with six brokers and eight partitions that loses more than the best order
in 6, and without the moves in 47. What is lost of a partition is the least of several ways to a leader along an order,
and not that of a set of brokers: no search over sets is exact, and all orders of eight are 40,320.
"""


class Led(NamedTuple):
    """Who leads a partition once a stage is done."""

    contest: Contest
    leaders: Leaders
    """Several where it depends on what nobody knows."""
    is_forced: bool
    """Whether an unclean election has to be asked for, unless somebody leads by then."""

    @property
    def cost(self) -> Cost:
        """What is lost at worst."""
        return Cost() if self.worst is None else self.contest.costs[self.worst]

    @property
    def worst(self) -> str | None:
        """Under whose copy most is lost, of those who may lead; None where nobody does whose copy is at hand."""
        costs = self.contest.costs
        known = [each for each in self.leaders if each is not NOBODY and each in costs]
        return max(known, key=costs.__getitem__, default=None)


@dataclass(frozen=True, slots=True)
class Stage:
    """Brokers that start together, once the stage before is done."""

    brokers: tuple[str, ...]
    stopped: tuple[str, ...] = ()
    """Those at hand that must not run yet."""
    led: tuple[Led, ...] = ()
    """The partitions that have a leader now, and had none."""

    @property
    def cost(self) -> Cost:
        """What is lost by it."""
        return _sum(each.cost for each in self.led)

    @property
    def forced(self) -> tuple[Led, ...]:
        """The partitions of which an unclean election has to be asked for."""
        return tuple(each for each in self.led if each.is_forced)


@dataclass(frozen=True, slots=True)
class StartPlan:
    """The stages, and which partitions lose more than they would have to."""

    stages: tuple[Stage, ...]
    is_of_all_orders: bool = True
    """Whether no other order loses less: of many brokers not all are looked at."""

    @property
    def cost(self) -> Cost:
        """What is lost by all of it."""
        return _sum(stage.cost for stage in self.stages)

    @property
    def sacrificed(self) -> tuple[Led, ...]:
        """The partitions that lose more than under the best leader: no order of starts gives each its own."""
        return tuple(each for stage in self.stages for each in stage.led if each.cost > each.contest.least)

    @property
    def is_ordered(self) -> bool:
        """Whether anybody has to wait."""
        return len(self.stages) > 1


def plan_start(contests: Sequence[Contest], brokers: Sequence[str]) -> StartPlan:
    """Decide in which order these brokers start.

    Where least is lost, however all of them start at once, they do. Else an order is chosen by which least is lost,
    with as few stages, and as few elections, as that takes.
    """
    contested = [each for each in contests if each.best != each.costs.keys()]
    if all(each.is_settled for each in contested):
        plan = StartPlan((_together(contested, brokers),))
    else:
        plan = _planned(contested, brokers)
        is_least = plan.cost == _sum(each.least for each in contested)
        plan = replace(plan, is_of_all_orders=is_least or len(_concerned(contested, brokers)) <= MOST_PERMUTED)
    return _with_the_rest(plan, [each for each in contests if each.waits_for_an_unclean_election])


def _together(contests: Sequence[Contest], brokers: Sequence[str]) -> Stage:
    return Stage(tuple(brokers), led=tuple(Led(each, each.together, is_forced=False) for each in contests))


def _with_the_rest(plan: StartPlan, leaderless: Sequence[Contest]) -> StartPlan:
    """Add elections at the end for partitions that nobody may lead, where it does not matter who does."""
    *stages, last = plan.stages
    forced = tuple(Led(each, each.best, is_forced=True) for each in leaderless)
    return replace(plan, stages=(*stages, replace(last, led=(*last.led, *forced))))


def _rank(plan: StartPlan) -> tuple[Cost, int, int]:
    return plan.cost, len(plan.stages), sum(len(stage.forced) for stage in plan.stages)


def _planned(contests: Sequence[Contest], brokers: Sequence[str]) -> StartPlan:
    """Return the best plan of the orders that are looked at."""
    concerned = _concerned(contests, brokers)
    rest = tuple(name for name in brokers if name not in concerned)

    def best(orders: Iterable[tuple[str, ...]]) -> tuple[StartPlan, tuple[str, ...]]:
        return min(((_staged(contests, (*each, *rest)), each) for each in orders), key=lambda plan: _rank(plan[0]))

    if len(concerned) <= MOST_PERMUTED:
        return best(permutations(concerned))[0]
    plan, order = best([_one_by_one(contests, concerned)])
    for _ in concerned:
        better, moved = best(_moved(order))
        if better.cost >= plan.cost:
            break
        plan, order = better, moved
    return plan


def _moved(order: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Give the orders in which one broker has another place."""
    for name in order:
        others = [each for each in order if each != name]
        yield from ((*others[:place], name, *others[place:]) for place in range(len(order)))


def _one_by_one(contests: Sequence[Contest], brokers: Iterable[str]) -> tuple[str, ...]:
    """Return an order of which each costs least as the next one."""
    concerned = [*brokers]
    order: list[str] = []
    undecided = list(contests)
    while concerned:
        first = min(concerned, key=lambda name: _cost_as_next(name, undecided))
        concerned.remove(first)
        order.append(first)
        undecided = [each for each in undecided if first not in each.costs]
    return tuple(order)


def _concerned(contests: Iterable[Contest], brokers: Iterable[str]) -> list[str]:
    return [name for name in brokers if any(name in each.costs for each in contests)]


def _cost_as_next(broker: str, undecided: Iterable[Contest]) -> tuple[Cost, int]:
    """Return what more than necessary is lost where a broker leads, and how few partitions it decides."""
    costs = [(each.costs[broker], each.least) for each in undecided if broker in each.costs]
    return _sum(Cost(*(a - b for a, b in zip(*pair, strict=True))) for pair in costs), -len(costs)


def _staged(contests: Sequence[Contest], order: Sequence[str]) -> StartPlan:
    """Follow one order, as far as anybody has to wait; the others start together at the end."""
    decided = {contest.name: _decided(contest, order) for contest in contests}
    waits = max((at for at, _ in decided.values()), default=0) + 1
    stages: list[Stage] = []
    begins = 0
    while begins < len(order):
        ends = _end_of_stage(order, begins, waits, [each for each in contests if decided[each.name][0] >= begins])
        led = tuple(led for at, led in decided.values() if begins <= at < ends)
        stages.append(Stage(tuple(order[begins:ends]), tuple(order[ends:]), led))
        begins = ends
    return StartPlan(tuple(stages))


def _end_of_stage(order: Sequence[str], begins: int, waits: int, undecided: Sequence[Contest]) -> int:
    """Return the end of a stage, whose brokers share no undecided partition; once all are decided, of the order."""
    if begins >= waits:
        return len(order)
    ends = begins + 1
    while ends < waits and not any(_meet(each, order[ends], order[begins:ends]) for each in undecided):
        ends += 1
    return ends


def _meet(contest: Contest, broker: str, others: Iterable[str]) -> bool:
    """Whether a partition has copies on a broker and on one of the others, so that it matters who is first."""
    return broker in contest.costs and any(other in contest.costs for other in others)


def _decided(contest: Contest, order: Sequence[str]) -> tuple[int, Led]:
    """Return with which broker's start, by its place in the order, a partition gets a leader, and which."""
    places = [place for place, broker in enumerate(order) if broker in contest.costs]
    ways = list(_ways(contest, order, places))
    last = places[-1] if places else 0
    return min(ways, key=lambda way: (way[1].cost, way[1].is_forced, way[0]), default=(last, _undecided(contest)))


def _ways(contest: Contest, order: Sequence[str], places: Sequence[int]) -> Iterator[tuple[int, Led]]:
    """Give the ways to a leader, as brokers start: it leads by itself, or by an election that somebody asks for."""
    started: tuple[str, ...] = ()
    for place in places:
        started = (*started, order[place])
        leaders = contest.after(started)
        forced = contest.forced_after(started)
        if leaders is not None and NOBODY not in leaders:
            yield place, Led(contest, leaders, is_forced=False)
        elif forced and NOBODY not in forced:
            yield place, Led(contest, forced, is_forced=True)
        elif leaders is not None:
            yield place, Led(contest, frozenset(started), is_forced=True)
        if leaders is not None or not contest.is_told:
            return


def _undecided(contest: Contest) -> Led:
    """Ask for an unclean election once all run: any of them may win it."""
    return Led(contest, frozenset(contest.costs), is_forced=True)


def _sum(costs: Iterable[Cost]) -> Cost:
    total = Cost()
    for each in costs:
        total = total.plus(each)
    return total
