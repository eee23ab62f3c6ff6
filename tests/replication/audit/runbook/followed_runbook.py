"""Somebody who does what the runbook says, and nothing else, with a real cluster that is down."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

from logstore import TopicPartition
from replication.audit import audit_locally
from replication.audit.runbook.contest import NOBODY, Contest
from replication.audit.runbook.runbook import planned_start
from replication.audit.runbook.start_plan import Led, Stage, StartPlan
from tests.oracle.cluster import CONTROLLER
from tests.replication.leadership.histories.election_history import ElectionHistory
from tests.replication.leadership.histories.foretold import values_of
from tests.replication.testing.stopped_replicas import loaded
from tests.replication.waiting import wait_until


@dataclass
class FollowedRunbook:
    """One incident after a history has ended, and what became of it."""

    history: ElectionHistory
    copies: Path
    """The directories as they were when all was down."""
    counted: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """What was not as the runbook had said, or lost more than another course."""

    def __post_init__(self) -> None:
        self.cluster = self.history.cluster
        document = audit_locally(sorted(self.copies.iterdir()), workers=0).document
        self.plan: StartPlan = planned_start(document)

    def follow(self) -> None:
        """Start brokers and ask for elections, as the steps say."""
        if not self.cluster.is_running(CONTROLLER):
            self.cluster.start(CONTROLLER)
        if self.plan.is_ordered:
            wait_until(lambda: not self.cluster.alive(), "the controller has given up all brokers")
        for number, stage in enumerate(self.plan.stages, 1):
            self.counted["stages"] += 1
            self._do(stage)
            self.wrong += self._not_as_said(number, stage)
        for node in set(self.cluster.ids) - self.cluster.running():
            self.cluster.start(node)
        self.cluster.wait_until_settled()
        self.wrong += self._lost_in_vain()

    def _do(self, stage: Stage) -> None:
        for name in stage.brokers:
            self.cluster.start(_node(name))
        wait_until(lambda: self.cluster.alive() == self.cluster.running(), "those that are down have been given up")
        self.cluster.wait_until_settled()
        states = self.cluster.partitions()
        leaderless = [place for place in map(_place, stage.forced) if not states[place].has_leader]
        self.counted["elections"] += len(leaderless)
        if leaderless:
            self.cluster.elect_uncleanly(leaderless)
            self.cluster.wait_until_settled()

    def _not_as_said(self, number: int, stage: Stage) -> Iterator[str]:
        states = self.cluster.partitions()
        for led in stage.led:
            self.counted["partitions"] += 1
            leader = states[_place(led)].leader
            if f"broker-{leader}" not in led.leaders:
                yield f"stage {number}: {leader} leads {led.contest.name}, and not {sorted(map(str, led.leaders))}"

    def _lost_in_vain(self) -> Iterator[str]:
        """Name the partitions that lack acknowledged records which another leader would have kept.

        Acknowledged by all in sync, that is: no file tells what a leader acknowledged with acks=1 beyond its high
        watermark. A partition that the runbook names as sacrificed for others is excused where Kafka elects so that no
        order of starts keeps it and them.
        """
        excused = {led.contest.name for led in self.plan.sacrificed if not self._could_be_kept(led.contest)}
        states = self.cluster.partitions()
        for place in self.history.partitions:
            lost = self._lost(place, self.cluster.directory, states[place].leader)
            least = min(self._lost(place, self.copies, node) for node in states[place].replicas)
            self.counted["acknowledged records lost whoever leads"] += least
            if str(place) in excused:
                self.counted["partitions without their best leader"] += 1
            elif lost > least:
                yield f"{place}: {lost} acknowledged records are lost, and {least} under another leader"

    def _could_be_kept(self, contest: Contest) -> bool:
        """Whether an order of starts gives a partition its best leader, and each other one that the plan gives it."""
        led = [each for stage in self.plan.stages for each in stage.led if each not in self.plan.sacrificed]
        brokers = [name for stage in self.plan.stages for name in stage.brokers]
        kept = [contest, *(each.contest for each in led)]
        return any(all(_is_kept(each, order) for each in kept) for order in permutations(brokers))

    def _lost(self, place: TopicPartition, directory: Path, node: int) -> int:
        root = directory / f"broker-{node}"
        log = loaded(root, place) if (root / str(place)).exists() else None
        acknowledged = self.history.ledger.by_all.intersection(self.history.ledger.acknowledged.get(place, []))
        return len(acknowledged.difference(values_of(log)))


def _node(name: str) -> int:
    return int(name.removeprefix("broker-"))


def _place(led: Led) -> TopicPartition:
    return TopicPartition(led.contest.topic, led.contest.number)


def _is_kept(contest: Contest, order: Sequence[str]) -> bool:
    """Whether only the best can lead a partition first, by itself or by an election, when brokers start in an order."""
    if contest.best == contest.costs.keys():
        return True
    holders = [name for name in order if name in contest.costs]
    alone = contest.after((holders[0],))
    if alone is None or NOBODY in alone:
        forced = contest.forced_after(holders[0])
        if forced and forced <= contest.best:
            return True
    for count in range(1, len(holders) + 1):
        started = tuple(holders[:count])
        leaders = contest.after(started)
        if leaders is not None:
            # Where nobody may lead, an election is asked for, and any that runs may win it.
            return (frozenset(started) if NOBODY in leaders else leaders) <= contest.best
    return False
