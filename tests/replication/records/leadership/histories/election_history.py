"""What befalls a cluster until all of it is down: writes, crashes, stops, unclean elections, lost logs and disks."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from logstore import TopicPartition
from tests.oracle.cluster import CONTROLLER
from tests.replication.records.leadership.histories.election_cluster import SESSION_MS, ElectionCluster
from tests.replication.records.leadership.histories.ledger import Ledger
from tests.replication.records.leadership.histories.topic_plan import TopicPlan

_TOPICS: Final = 12
_LOST_DISKS: Final = 0.15
_LOST_LOGS: Final = 0.3


@dataclass
class ElectionHistory:
    """A few topics of their own in a cluster that runs; in its end everything is down."""

    cluster: ElectionCluster
    seed: int
    told: list[str] = field(default_factory=list)
    """What was done, in order."""

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        names = [f"history-{self.seed}-{number}" for number in range(_TOPICS)]
        self.topics = [TopicPlan.at_random(name, self.cluster.ids, self.random) for name in names]
        self.ledger = Ledger(self.cluster.bootstrap())

    @property
    def partitions(self) -> list[TopicPartition]:
        """All partitions of the history's topics."""
        return [partition for topic in self.topics for partition in topic]

    def happen(self) -> None:
        """Let a few things happen, and end all nodes."""
        self.cluster.create(self.topics)
        self._write()
        for _ in range(self.random.randint(1, 4)):
            self._happening()()
        self._end()

    def _happening(self) -> Callable[[], None]:
        running = len(self.cluster.running())
        happenings: list[Callable[[], None]] = [self._write, self._replace_controller]
        if running > 1:
            happenings += [self._crash, self._crash, self._stop, self._lose_leader_with_its_tail]
        if running == 1:
            happenings += [self._crash]
        if running < len(self.cluster.ids):
            happenings += [self._start, self._start, self._elect_uncleanly]
        return self.random.choice(happenings)

    def _write(self) -> None:
        acks = self.random.choice(("all", "1"))
        self._tell(f"write acks={acks}")
        self._write_with(acks)

    def _write_with(self, acks: str) -> None:
        states = self.cluster.partitions()
        led = [each for each in self.partitions if states[each].has_leader]
        chosen = [each for each in led if self.random.random() < 0.7 and (acks != "all" or self._may_acknowledge(each))]
        self.ledger.write(chosen, acks=acks, random=self.random)

    def _may_acknowledge(self, partition: TopicPartition) -> bool:
        topic = next(each for each in self.topics if each.name == partition.topic)
        return len(self.cluster.partitions()[partition].isr) >= topic.min_isr

    def _crash(self) -> None:
        node = self._any_running()
        self._tell(f"kill {node}")
        self.cluster.kill(node)
        self._settle()

    def _stop(self) -> None:
        node = self._any_running()
        self._tell(f"stop {node}")
        self.cluster.stop(node)
        self._settle()

    def _start(self) -> None:
        node = self.random.choice(sorted(set(self.cluster.ids) - self.cluster.running()))
        self._tell(f"start {node}")
        self.cluster.start(node)
        self._settle()

    def _lose_leader_with_its_tail(self) -> None:
        """Let one broker's partitions get what nobody else has, while the others stand still, and kill it."""
        node = self._any_running()
        self._tell(f"write to {node} alone, and kill it")
        states = self.cluster.partitions()
        led = [each for each in self.partitions if states[each].leader == node]
        others = self.cluster.running() - {node}
        for each in others:
            self.cluster.pause(each)
        self.ledger.write(led, acks="1", random=self.random)
        self.cluster.kill(node)
        for each in others:
            self.cluster.resume(each)
        self._settle()

    def _replace_controller(self) -> None:
        self._tell("kill and start the controller")
        self.cluster.kill(CONTROLLER)
        self.cluster.start(CONTROLLER)
        self._settle()

    def _elect_uncleanly(self) -> None:
        states = self.cluster.partitions()
        leaderless = [each for each in self.partitions if not states[each].has_leader]
        chosen = [each for each in leaderless if self.random.random() < 0.7]
        self._tell(f"elect uncleanly {', '.join(map(str, chosen))}")
        if chosen and self.cluster.running():
            self.cluster.elect_uncleanly(chosen)
            self._settle()

    def _end(self) -> None:
        """End the brokers in any order and way, with or without a controller that notices; then the controller."""
        at_once = self.random.random() < 0.3
        self._tell("the end: " + ("all at once" if at_once else "one after the other"))
        nodes: Sequence[int] = self.random.sample(self.cluster.ids, len(self.cluster.ids))
        if at_once:
            nodes = self.random.sample(self.cluster.nodes, len(self.cluster.nodes))
        for node in nodes:
            if self.cluster.is_running(node):
                self._end_one(node, orderly=not at_once and self.random.random() < 0.5)
                if not at_once:
                    self._settle()
        if self.cluster.is_running(CONTROLLER) and self.random.random() < 1 / 2:
            self._tell("stop the controller")
            self.cluster.stop(CONTROLLER)
        self._lose_something()

    def _end_one(self, node: int, *, orderly: bool) -> None:
        self._tell(f"{'stop' if orderly else 'kill'} {node}")
        (self.cluster.stop if orderly else self.cluster.kill)(node)

    def _lose_something(self) -> None:
        """Lose a disk now and then, or some logs, while all is down."""
        if self.random.random() < _LOST_DISKS:
            node = self.random.choice(self.cluster.ids)
            self._tell(f"replace the disk of {node}")
            self.cluster.lose_disk(node)
        elif self.random.random() < _LOST_LOGS:
            for partition in self.partitions:
                if self.random.random() < 0.2:
                    node = self.random.choice(self._replicas(partition))
                    self._tell(f"lose {partition} of {node}")
                    self.cluster.lose_log(node, partition)

    def _replicas(self, partition: TopicPartition) -> Sequence[int]:
        topic = next(each for each in self.topics if each.name == partition.topic)
        return topic.replicas[partition.partition]

    def _settle(self) -> None:
        if self.cluster.is_running(CONTROLLER):
            self.cluster.wait_until_settled()
        else:
            time.sleep(SESSION_MS / 1_000)

    def _any_running(self) -> int:
        return self.random.choice(sorted(self.cluster.running()))

    def _tell(self, happening: str) -> None:
        self.told.append(happening)
