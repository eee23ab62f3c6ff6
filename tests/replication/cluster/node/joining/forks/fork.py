"""Logs that fork on purpose: each of some brokers leads in turn, writes what nobody else gets, and is killed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from confluent_kafka import Producer

from logstore import TopicPartition
from replication.copies.planning.plan import plan
from replication.copies.planning.truncation_plan import TruncationPlan
from tests.replication.cluster.node.joining.administrator import Administrator
from tests.replication.cluster.node.joining.cuts import cuts
from tests.replication.cluster.node.joining.forks.open_transaction import OpenTransaction
from tests.replication.cluster.node.joining.mixed_cluster import MixedCluster
from tests.replication.copies.salvage.cluster.target import Target
from tests.replication.testing.stopped_replicas import loaded
from tests.replication.waiting import SECONDS, wait_until

_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclass(frozen=True)
class Foretold:
    """What a broker that is down will cut off one partition."""

    node: int
    plan: TruncationPlan

    @property
    def partition(self) -> TopicPartition:
        return TopicPartition(self.plan.topic, self.plan.partition)

    @property
    def is_cut(self) -> bool:
        return self.plan.truncate_to < self.plan.log_end_offset


@dataclass
class Fork:
    """One topic whose replicas are on `nodes`: each but the last leads and dies, and the last leads in the end."""

    cluster: MixedCluster
    topic: str
    nodes: Sequence[int]
    random: Random
    partitions: int = 4
    foretold: list[Foretold] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._administrator = Administrator(self.cluster)
        is_committed = self.random.random() < 0.5
        self._transaction = OpenTransaction(self.cluster.bootstrap(), list(self), is_committed)

    def __iter__(self) -> Iterator[TopicPartition]:
        return (TopicPartition(self.topic, number) for number in range(self.partitions))

    def make(self) -> None:
        """Let the logs fork; the last broker runs then, the others do not."""
        replicas = [self.nodes] * self.partitions
        wait_until(lambda: self._administrator.create(self.topic, replicas, min_insync_replicas=1), "it is made")
        for partition in self:
            self._administrator.lead(partition, self.nodes)
        self._write(self.nodes[0], acks="all")
        self._transaction.begin()
        for number, leader in enumerate(self.nodes[:-1]):
            self._write_alone(leader, self.nodes[number + 1 :])
        self._write(self.nodes[-1], acks="all")

    def foretell(self) -> None:
        """Plan what those that are down will cut off once they come back. AssertionError: one has nothing to cut."""
        for partition in self:
            leading = loaded(self.cluster.log_dir(self.nodes[-1]), partition)
            for node in self.nodes[:-1]:
                self.foretold.append(Foretold(node, plan(leading, loaded(self.cluster.log_dir(node), partition))))
        forked = {each.node for each in self.foretold if each.is_cut}
        assert forked == set(self.nodes[:-1]), f"{self.nodes} led in turn, and only the logs of {forked} have forked"

    def heal(self) -> None:
        """Start those that are down, and check that they do what was foretold. Raises AssertionError."""
        said_before = {node: len(self.cluster.said(node)) for node in self.nodes[:-1]}
        for node in said_before:
            self.cluster.start(node, wait=False)
        self._wait_for(self.nodes, leader=self.nodes[-1])
        self._write(self.nodes[-1], acks="all")
        done = {node: cuts(self.cluster.said(node)[begin:]) for node, begin in said_before.items()}
        for each in self.foretold:
            offsets = done[each.node].get(each.partition, [])
            cut_to = min(offsets, default=each.plan.log_end_offset)
            assert cut_to == each.plan.truncate_to, f"broker {each.node} cut to {offsets}, and {each.plan} was foretold"
        self._transaction.end()
        for partition in self:
            self.cluster.ensure_equal(partition, self.nodes)
            self._transaction.check(partition, Target(self.cluster.bootstrap()).values(*partition))

    def _write_alone(self, leader: int, others: Sequence[int]) -> None:
        """Let a leader write what it alone has, and kill it; the first of the others leads after it."""
        for node in others:
            self.cluster.pause(node)
        # What a fetch that waits is answered with is read by a follower once it goes on: the first batch may be.
        self._write(leader, acks="1")
        self._transaction.go_on()
        self._write(leader, acks="1")
        self.cluster.kill(leader)
        for node in others:
            self.cluster.resume(node)
        self._wait_for(others, leader=others[0])
        if self.random.random() < 0.5:
            self._write(others[0], acks="all")

    def _write(self, leader: int, *, acks: str) -> None:
        """Write a few batches to each partition."""
        codec = self.random.choice(_CODECS)
        producer = Producer(
            {
                "bootstrap.servers": self.cluster.bootstrap(leader),
                "acks": acks,
                "compression.type": codec,
                "linger.ms": 0,
            }
        )
        failures: list[object] = []
        for _ in range(self.random.randint(2, 5)):
            for partition in self:
                for _ in range(self.random.randint(1, 20)):
                    value = self.random.randbytes(self.random.randint(1, 200))
                    producer.produce(
                        self.topic,
                        value,
                        partition=partition.partition,
                        on_delivery=lambda error, _: failures.extend([error] * bool(error)),
                    )
            assert producer.flush(SECONDS) == 0
        assert failures == []

    def _wait_for(self, isr: Sequence[int], leader: int) -> None:
        for partition in self:
            self._administrator.wait_for(partition, isr=set(isr), leader=leader)
