"""Somebody who does what the runbook says, and nothing else, with a real cluster that is down."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from logstore import TopicPartition
from replication.audit import audit_locally
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
        """Name the partitions that lack acknowledged records which a leader would have kept that loses no more records.

        No file tells of all that was acknowledged: by what the copies hold the leaders are compared.
        """
        best = {led.contest.name: sorted(led.contest.best) for stage in self.plan.stages for led in stage.led}
        spared = {led.contest.name for led in self.plan.sacrificed}
        states = self.cluster.partitions()
        for place in self.history.partitions:
            lost = self._lost(place, self.cluster.directory, states[place].leader)
            if str(place) not in best:
                continue  # nothing tells a better leader from a worse one
            least = min(self._lost(place, self.copies, _node(name)) for name in best[str(place)])
            self.counted["acknowledged records lost whoever leads"] += least
            if str(place) in spared:
                self.counted["partitions without their best leader"] += 1
            elif lost > least:
                yield f"{place}: {lost} acknowledged records are lost, and {least} under another leader"

    def _lost(self, place: TopicPartition, directory: Path, node: int) -> int:
        root = directory / f"broker-{node}"
        log = loaded(root, place) if (root / str(place)).exists() else None
        return len(set(self.history.ledger.acknowledged.get(place, [])).difference(values_of(log)))


def _node(name: str) -> int:
    return int(name.removeprefix("broker-"))


def _place(led: Led) -> TopicPartition:
    return TopicPartition(led.contest.topic, led.contest.number)
