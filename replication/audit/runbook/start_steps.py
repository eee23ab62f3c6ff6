"""The start of brokers and the elections, as steps: who starts, who waits, what it loses, and how to check it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from replication.audit.judgement.cluster_commands import dry_run, elect_listed, election_file, show_topics
from replication.audit.judgement.cost import Cost
from replication.audit.judgement.not_given import NotGiven, unread_in_words
from replication.audit.judgement.wording import acknowledged_in_words, some
from replication.audit.runbook.start_plan import Led, Stage, StartPlan
from replication.counted import counted
from replication.next_step import Step

Json = Mapping[str, Any]
CONTROLLERS_FIRST: Final = (
    "Start the controllers, and wait a minute: until a broker's session is over, those that ran when the controllers "
    "stopped count as alive, and may be elected though they are down"
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
NO_CHOICE: Final = "which of them leads makes no difference, as far as the copies show"


@dataclass(frozen=True, slots=True)
class StartSteps:
    """Says a plan in steps, with commands for a cluster at `bootstrap`."""

    plan: StartPlan
    snapshots: Sequence[Json]
    bootstrap: str
    voters: Collection[int] = ()
    """The nodes that have a vote as controllers."""
    not_given: Sequence[NotGiven] = ()
    """Brokers that have replicas, and whose records nobody has counted."""
    left_out: int = 0
    """Partitions at hand for which the order was not chosen, and which it decides all the same."""

    def steps(self) -> Iterator[Step]:
        """Give a step for each stage."""
        for number, stage in enumerate(self.plan.stages, 1):
            yield self._all_at_once(stage) if not self.plan.is_ordered else self._stage(number, stage)

    def _all_at_once(self, stage: Stage) -> Step:
        order = ", in any order" if len(stage.brokers) > 1 else ""
        is_both = bool(self._with_a_vote(stage.brokers))
        begin = "Together with the other controllers" if is_both else "With the controllers running"
        started = f"{begin}, start {_listed(stage.brokers)}{order}, and no other broker"
        by_itself = [each for each in stage.led if not each.is_forced]
        expected = f"the controller elects {some(_names(by_itself))} so that least is lost" if by_itself else NO_CHOICE
        step = self._step(1, stage, f"{started}: {expected}")
        return replace(
            step,
            stopped=EMPTY_ONES_STOPPED,
            check="; ".join([*filter(None, [step.check]), "none of their partitions is listed as unavailable"]),
            check_commands=(*step.check_commands, f"epochlog cluster --bootstrap {self.bootstrap} --unavailable"),
        )

    def _stage(self, number: int, stage: Stage) -> Step:
        brokers = _listed(stage.brokers)
        begin = f"{CONTROLLERS_FIRST}. {self._of_both_roles(stage)}Then start" if number == 1 else "Then start"
        if stage.stopped:
            return self._step(number, stage, f"{begin} {brokers}, and no other broker")
        return self._step(
            number,
            stage,
            f"Only now start {brokers}, and every other broker: they cut off what their leaders lack, which the copies "
            "that you keep still have",
        )

    def _of_both_roles(self, first: Stage) -> str:
        """Say how brokers that are controllers too are started as controllers alone: their votes are needed at once."""
        both = self._with_a_vote((*first.brokers, *first.stopped))
        return f"Of the brokers each of these is {CONTROLLERS_ALONE}: {_listed(both)}. " if both else ""

    def _with_a_vote(self, brokers: Iterable[str]) -> list[str]:
        nodes = {each["name"]: each["node_id"] for each in self.snapshots}
        return [name for name in brokers if nodes.get(name) in self.voters]

    def _step(self, number: int, stage: Stage, what: str) -> Step:
        forced = stage.forced
        if forced:
            what += (
                ". A minute later, once the first command shows all that do not run as fenced, hold an unclean "
                f"election of {some(_names(forced))}: only a broker that runs can win it. Look at the dry run first, "
                "which ends with status 1, as the election is unclean; where it says that a partition has its leader, "
                "that is as good"
            )
        return Step(
            what,
            tuple(self._election(number, forced)) if forced else (),
            stopped=_stopped(stage, self._with_a_vote(stage.stopped)),
            loses=self._loses(number, stage),
            check=_check(stage),
            check_commands=(show_topics({each.contest.topic for each in stage.led}, self.bootstrap),)
            if stage.led
            else (),
        )

    def _loses(self, number: int, stage: Stage) -> str | None:
        """Say what a stage loses; what nobody has read is lost once the first one lets others lead."""
        known = ". ".join(_known_losses(stage, self.plan))
        uncounted = self._uncounted() if number == 1 else ()
        return "; and ".join(filter(None, [known, *uncounted])) or None

    def _uncounted(self) -> Iterator[str]:
        yield from unread_in_words(self.not_given)
        if self.left_out:
            yield (
                f"what it decides of {counted(self.left_out, 'other partition')}, not looked at as others were chosen: "
                "whoever starts may lead those too. Run this over all topics before, unless nothing depends on them"
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
    return f"{others}: until what is checked below is so{alone}"


def _check(stage: Stage) -> str | None:
    by_leader: dict[str, list[str]] = {}
    for each in stage.led:
        leaders = sorted(filter(None, each.leaders))
        if leaders:
            by_leader.setdefault(" or ".join(leaders), []).append(each.contest.name)
    told = [f"{leader} leads {some(names)}" for leader, names in by_leader.items()]
    return "; ".join(told) or None


def _known_losses(stage: Stage, plan: StartPlan) -> Iterator[str]:
    losing = [each for each in stage.led if each.cost.records]
    if losing:
        each_loses = some([f"{each.cost.records:,} of {each.contest.name}" for each in losing])
        yield f"{_cost_in_words(stage.cost)}: {each_loses}"
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
