"""Somebody who does what the runbook says, and nothing else, with a real cluster that is down."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

from logstore import TopicPartition
from logstore.files.offset_checkpoint import RECOVERY_POINT_CHECKPOINT
from replication.audit import audit_locally
from replication.copies.audit.incident.incident import Incident, incident_of
from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.runbook.contest import NOBODY, Contest
from replication.copies.audit.runbook.runbook import planned_start
from replication.copies.audit.runbook.start_plan import Led, Stage, StartPlan
from tests.oracle.cluster import CONTROLLER
from tests.replication.records.leadership.histories.election_history import ElectionHistory
from tests.replication.records.leadership.histories.foretold import values_of
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
        self.before = audit_locally(sorted(self.copies.iterdir()), workers=0).document
        self.plan: StartPlan = planned_start(self.before)

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
        self.wrong += self._not_done()

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

    def _not_done(self) -> Iterator[str]:
        """Compare at last, as the runbook says: it is done, and what is gone of each partition is what is not there."""
        wait_until(self._are_all_in_sync, "all replicas are in sync")
        after, found = self._compared("after")
        if is_to_be_looked_at_again(found):
            self.counted["compared again"] += 1
            self._wait_for_checkpoints()
            after, found = self._compared("after-again")
        assert found.recovery is not None
        if not (found.is_well and not found.steps and found.headline.startswith("Done: ")):
            yield f"not done: {found.headline} {found.damage} {[stake.in_short for stake in found.stakes]}"
        for place in self.history.partitions:
            if str(place) not in found.recovery.unknown:
                told = found.recovery.gone.get(str(place), Cost()).records
                gone = len(self._values(place, self.copies) - self._values(place, after))
                self.counted["records gone"] += gone
                if told != gone:
                    yield f"{place}: {gone} records are gone, and {told} are said to be"
            self.counted["partitions compared"] += str(place) not in found.recovery.unknown

    def _compared(self, name: str) -> tuple[Path, Incident]:
        after = self.copies.with_name(name)
        self.cluster.copy(after)
        document = audit_locally(sorted(after.iterdir()), workers=0).document
        return after, incident_of(document, before=self.before)

    def _wait_for_checkpoints(self) -> None:
        """Wait until each broker has written its recovery points anew."""
        files = [self.cluster.log_dir(node) / RECOVERY_POINT_CHECKPOINT for node in self.cluster.ids]
        before = [file.stat().st_mtime_ns for file in files]
        wait_until(
            lambda: all(file.stat().st_mtime_ns > then for file, then in zip(files, before, strict=True)),
            "all brokers have written their recovery points",
        )

    def _are_all_in_sync(self) -> bool:
        return all(set(each.isr) == set(each.replicas) for each in self.cluster.partitions().values())

    def _values(self, place: TopicPartition, directory: Path) -> set[object]:
        roots = [directory / f"broker-{node}" for node in self.cluster.ids]
        logs = [loaded(root, place) for root in roots if (root / str(place)).exists()]
        return {value for log in logs for value in values_of(log)}

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


def is_to_be_looked_at_again(found: Incident) -> bool:
    """Whether the one step is to copy the directories once more, as brokers have not written all down yet."""
    return len(found.steps) == 1 and found.steps[0].what.startswith("Copy the brokers' directories again")


def _node(name: str) -> int:
    return int(name.removeprefix("broker-"))


def _place(led: Led) -> TopicPartition:
    return TopicPartition(led.contest.topic, led.contest.number)


def _is_kept(contest: Contest, order: Sequence[str]) -> bool:
    """Whether only the best can lead a partition first, by itself or by an election, when brokers start in an order."""
    if contest.best == contest.costs.keys():
        return True
    holders = [name for name in order if name in contest.costs]
    for count in range(1, len(holders) + 1):
        started = tuple(holders[:count])
        leaders = contest.after(started)
        if leaders is not None and NOBODY not in leaders:
            return leaders <= contest.best
        if contest.forced_after(started) and contest.forced_after(started) <= contest.best:
            return True
        if leaders is not None:
            return False
    return False
