"""The start of brokers and the elections, as steps: who starts, who waits, what it loses, and how to check it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from replication.base.counted import counted
from replication.base.json_object import Json
from replication.base.next_step import Step
from replication.copies.audit.judgement.cluster_commands import dry_run, elect_listed, election_file, show_topics
from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.judgement.not_given import NotGiven, unread_in_words
from replication.copies.audit.judgement.wording import acknowledged_in_words, some
from replication.copies.audit.runbook.start_plan import Led, Stage, StartPlan

CONTROLLERS_FIRST: Final = (
    "Start the controllers, and wait a minute: until a broker's session is over, those that ran when the controllers "
    "stopped count as alive, and may be elected although they are down"
)
EMPTY_ONES_STOPPED: Final = (
    "every broker that is not named here: until what is checked below is so. One that starts on an empty disk may be "
    "elected before, and the others would empty their logs after it"
)
CONTROLLERS_ALONE: Final = (
    "a controller as well, with a vote (process.roles=broker,controller): where it is to start as a controller, or to "
    "stay stopped as a broker, start it with process.roles=controller, and with only those of its listeners that "
    "controller.listener.names names; when its turn comes, restart it with its own settings"
)
"""Of a node that has both roles."""
FIRST_OF_SEVERAL: Final = (
    ". Where several brokers run that hold one of these, the controller elects the first of its replicas that runs: "
    "hold the election only once the first command shows all brokers that were started so far, none of them as fenced, "
    "and the dry run names the leaders that are to be checked below"
)
NO_CHOICE: Final = "which of them leads makes no difference, as far as the copies show"


@dataclass(frozen=True, slots=True)
class StartSteps:
    """A plan in steps, with commands for a cluster at `bootstrap`."""

    plan: StartPlan
    snapshots: Sequence[Json]
    bootstrap: str
    voters: Collection[int] = ()
    """The nodes that have a vote as controllers."""
    not_given: Sequence[NotGiven] = ()
    """Brokers that have replicas, and whose records nobody has counted."""
    left_out: int = 0
    """Partitions at hand for which the order was not chosen, and which it decides all the same."""
    undecided: Sequence[str] = ()
    """Those that nobody should lead yet, as a copy was not read, or the best one is not to be trusted."""

    def steps(self) -> Iterator[Step]:
        """Give a step for each thing that is done: controllers start, brokers start, an election is held."""
        if not self.plan.is_ordered:
            for stage in self.plan.stages:
                yield from self._all_at_once(stage)
            return
        yield self._controllers(self.plan.stages[0])
        for number, stage in enumerate(self.plan.stages, 1):
            yield from self._stage(number, stage)

    def _controllers(self, first: Stage) -> Step:
        """Return the step that starts combined brokers as controllers alone: their votes are needed at once."""
        both = self._with_a_vote((*first.brokers, *first.stopped))
        of_both_roles = f". Of the brokers each of these is {CONTROLLERS_ALONE}: {_listed(both)}" if both else ""
        return Step(f"{CONTROLLERS_FIRST}{of_both_roles}", stopped="all brokers: until the next steps name them")

    def _all_at_once(self, stage: Stage) -> Iterator[Step]:
        order = ", in any order" if len(stage.brokers) > 1 else ""
        is_both = bool(self._with_a_vote(stage.brokers))
        begin = "Together with the other controllers" if is_both else "With the controllers running"
        by_itself = [each for each in stage.led if not each.is_forced]
        no_choice = f"of all but {some(self.undecided)} {NO_CHOICE}" if self.undecided else NO_CHOICE
        expected = f"the controller elects {some(_names(by_itself))} so that least is lost" if by_itself else no_choice
        what = f"{begin}, start {_listed(stage.brokers)}{order}, and no other broker"
        is_any = by_itself or len(stage.brokers) > 1
        *before, last = self._start_and_elect(1, stage, f"{what}: {expected}" if is_any else what)
        yield from (replace(step, stopped=EMPTY_ONES_STOPPED) for step in before)
        yield replace(
            last,
            stopped=EMPTY_ONES_STOPPED,
            check="; ".join([*filter(None, [last.check]), "none of their partitions is listed as unavailable"]),
            check_commands=(*last.check_commands, f"epochlog cluster --bootstrap {self.bootstrap} --unavailable"),
        )

    def _stage(self, number: int, stage: Stage) -> Iterator[Step]:
        what = f"Start {_listed(stage.brokers)}, and no other broker"
        if not stage.stopped:
            what = (
                f"Only now start {_listed(stage.brokers)}, and every other broker: they cut off what their leaders "
                "lack, which the copies that you keep still have"
            )
        yield from self._start_and_elect(number, stage, what)

    def _with_a_vote(self, brokers: Iterable[str]) -> list[str]:
        nodes = {each["name"]: each["node_id"] for each in self.snapshots}
        return [name for name in brokers if nodes.get(name) in self.voters]

    def _start_and_elect(self, number: int, stage: Stage, what: str) -> Iterator[Step]:
        """Give the start, and where one has to be asked for the election; what is checked is so after both."""
        stopped = _stopped(stage, self._with_a_vote(stage.stopped))
        by_itself = [each for each in stage.led if not each.is_forced]
        start = Step(what, stopped=stopped, loses=self._loses(number, by_itself))
        if not stage.forced:
            yield self._checked(start, stage)
            return
        yield start
        is_among_several = any(self._is_among_several(number, each) for each in stage.forced)
        election = Step(
            "A minute later, once the first command shows all that do not run as fenced, hold an unclean election of "
            f"{some(_names(stage.forced))}: only a broker that runs can win it. Look at the dry run first: it ends "
            "with status 1, as the election is unclean. Where it says that a partition has its leader, that is as good"
            f"{FIRST_OF_SEVERAL if is_among_several else ''}",
            tuple(self._election(number, stage.forced)),
            stopped=stopped,
            loses=self._loses(None, stage.forced),
        )
        yield self._checked(election, stage)

    def _is_among_several(self, number: int, led: Led) -> bool:
        """Whether more than one broker could win an election by then, and it matters which."""
        running = {name for stage in self.plan.stages[:number] for name in stage.brokers}
        return len(running & led.contest.costs.keys()) > 1 and not running & led.contest.costs.keys() <= led.leaders

    def _checked(self, step: Step, stage: Stage) -> Step:
        topics = {each.contest.topic for each in stage.led}
        commands = (show_topics(topics, self.bootstrap),) if topics else ()
        return replace(step, check=_check(stage), check_commands=commands)

    def _loses(self, number: int | None, led: Sequence[Led]) -> str | None:
        """Return what is lost; what was not read is lost once the first start lets others lead."""
        known = ". ".join(_known_losses(led, self.plan))
        uncounted = self._uncounted() if number == 1 else ()
        return "; and ".join(filter(None, [known, *uncounted])) or None

    def _uncounted(self) -> Iterator[str]:
        yield from unread_in_words(self.not_given)
        if self.undecided:
            yield (
                f"what was not read, or is not to be trusted, of {some(self.undecided)}: whichever broker starts may "
                "lead that too, and the others truncate it"
            )
        if self.left_out:
            yield (
                f"what it decides of {counted(self.left_out, 'other partition')}, not looked at as others were chosen: "
                "whichever broker starts may lead those too. Run this over all topics before, unless nothing depends "
                "on them"
            )

    def _election(self, number: int, forced: Sequence[Led]) -> Iterator[str]:
        name = f"unclean-{number}.json"
        election = elect_listed(name, self.bootstrap)
        yield show_topics((), self.bootstrap)
        yield election_file(name, [(each.contest.topic, each.contest.number) for each in forced])
        brokers = {name for stage in self.plan.stages for name in stage.brokers}
        yield dry_run(election, [each for each in self.snapshots if each["name"] in brokers])
        yield election


def _stopped(stage: Stage, with_a_vote: Sequence[str]) -> str | None:
    if not stage.stopped:
        return None
    others = f"{_listed(stage.stopped)}, and every broker that is not named here"
    alone = f"; but {_listed(with_a_vote)} as a broker only: as a controller it runs" if with_a_vote else ""
    return f"{others}: until a step below says to start it{alone}"


def _check(stage: Stage) -> str | None:
    by_leader: dict[str, list[str]] = {}
    for each in stage.led:
        leaders = sorted(filter(None, each.leaders))
        if leaders:
            by_leader.setdefault(" or ".join(leaders), []).append(each.contest.name)
    told = [f"{leader} leads {some(names)}" for leader, names in by_leader.items()]
    return "; ".join(told) or None


def _known_losses(led: Sequence[Led], plan: StartPlan) -> Iterator[str]:
    losing = [each for each in led if each.cost.records]
    if losing:
        each_loses = some([f"{each.cost.records:,} of {each.contest.name}" for each in losing])
        total = Cost()
        for each in losing:
            total = total.plus(each.cost)
        yield f"{_cost_in_words(total)}: {each_loses}"
    if spared := [each for each in losing if each in plan.sacrificed]:
        no_order = (
            "no order of starts" if plan.is_of_all_orders else "no order that was tried, of so many brokers not all,"
        )
        yield (
            f"{some(_names(spared))} would lose less under another broker, and others more then: {no_order} gives "
            "each its best leader"
        )


def _cost_in_words(cost: Cost) -> str:
    records = counted(cost.records, "record")
    return f"{records}, {acknowledged_in_words(cost.records, cost.acknowledged, cost.maybe)}"


def _names(led: Iterable[Led]) -> list[str]:
    return [each.contest.name for each in led]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
