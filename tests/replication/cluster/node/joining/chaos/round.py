"""One round of chaos: a schedule that is carried out on a cluster while producers write, and what must hold then."""

import logging
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from random import Random
from subprocess import TimeoutExpired
from typing import ClassVar, Final

from logstore import TopicPartition
from replication.cluster.operations.partition_view import PartitionView
from tests.oracle.cluster import CONTROLLER
from tests.oracle.kafka import JavaProgram
from tests.replication.cluster.node.joining.administrator import Administrator
from tests.replication.cluster.node.joining.chaos.compaction import compacted
from tests.replication.cluster.node.joining.chaos.compaction.keyed_records import KeyedRecord
from tests.replication.cluster.node.joining.chaos.producer_epochs import resumed_at, without_resent
from tests.replication.cluster.node.joining.chaos.reader import ChaosReader
from tests.replication.cluster.node.joining.chaos.schedule import Action, Schedule, Step
from tests.replication.cluster.node.joining.chaos.transactions import ChaosTransactions
from tests.replication.cluster.node.joining.chaos.unclean_election import UncleanElection
from tests.replication.cluster.node.joining.chaos.writer import ChaosWriter, value_of
from tests.replication.cluster.node.joining.mixed_cluster import MixedCluster
from tests.replication.cluster.node.joining.transactional_clients import JavaClient, LibrdkafkaClient
from tests.replication.copies.salvage.cluster.target import Target
from tests.replication.testing.stopped_replicas import loaded
from tests.replication.waiting import SECONDS, wait_until

_log: Final = logging.getLogger(__name__)


class ChaosRound:
    """Its topics are named after the seed; what was begun but could not be done is none of its concern."""

    MIN_IN_SYNC: ClassVar[int] = 2
    """The setting of its topics, min.insync.replicas."""

    def __init__(self, cluster: MixedCluster, java: JavaProgram, schedule: Schedule, seed: int) -> None:
        """`java` is a TransactionClient, which every other round writes with."""
        self.cluster = cluster
        self.schedule = schedule
        self.topic: Final = f"chaos-{seed}"
        self.administrator = Administrator(cluster)
        random = Random(seed)
        bootstrap = cluster.bootstrap()
        *plain, transactional = [TopicPartition(self.topic, number) for number in range(len(schedule.replicas) - 1)]
        self.compacted: Final = TopicPartition(f"{self.topic}-compacted", 0)
        self.partitions: Final = [*plain, transactional, self.compacted]
        self.writers: Final = [
            ChaosWriter(bootstrap, each, Random(random.random()), is_idempotent=each == plain[0]) for each in plain
        ]
        client = JavaClient(java, self.topic) if seed % 2 else LibrdkafkaClient(bootstrap, self.topic)
        self.transactions: Final = ChaosTransactions(client, transactional, Random(random.random()))
        self.keyed_writer: Final = ChaosWriter(
            bootstrap, self.compacted, Random(random.random()), is_idempotent=True, has_keys=True
        )
        self.readers: Final = [ChaosReader(bootstrap, *each) for each in self.partitions]
        self.elections: Final[list[UncleanElection]] = []
        self._killed: Final[set[int]] = set()
        self.markers_given_up = 0
        """By coordinators of Kafka's, which left transactions without their ends."""

    def run(self) -> None:
        """Let it happen, and see that all is as it must be afterwards. Raises AssertionError."""
        told = self.administrator
        *replicas, of_compacted = self.schedule.replicas
        settings: dict[str, object] = {"min_insync_replicas": self.MIN_IN_SYNC}
        wait_until(lambda: told.create(self.topic, replicas, **settings), "the topic is made")
        settings |= compacted.SETTINGS
        wait_until(lambda: told.create(self.compacted.topic, [of_compacted], **settings), "the compacted one is made")
        with ExitStack() as stack:
            for each in (*self.writers, self.keyed_writer, self.transactions, *self.readers):
                each.start()
                stack.callback(each.stop)
            self._happen()
            _log.info("%s: all happened", self.topic)
            self._settle()
            written = [each for each in self.readers if each.partition != self.transactions.partition.partition]
            wait_until(lambda: all(each.seen for each in written), "each reader has read something")
        for writer in (*self.writers, self.keyed_writer):
            writer.finish(SECONDS)
        _log.info("%s: all is in sync", self.topic)
        self._check()
        _log.info("%s: all is checked", self.topic)

    def _happen(self) -> None:
        """Do what this round is about while all is written and read."""
        for step in self.schedule.steps:
            time.sleep(step.after)
            _log.info("%s: %s", self.topic, step)
            self._do(step)

    def _do(self, step: Step) -> None:
        actions: dict[Action, Callable[[Step], object]] = {
            Action.KILL: lambda step: self._kill(*step.nodes),
            Action.LOSE: lambda step: self._lose(*step.nodes),
            Action.STOP: lambda step: self._stop(*step.nodes),
            Action.START: lambda step: self.cluster.start(*step.nodes, wait=False),
            Action.PAUSE: lambda step: self._pause(*step.nodes, step.seconds),
            Action.PAUSE_CONTROLLER: lambda step: self._pause(CONTROLLER, step.seconds),
            Action.RESTART_CONTROLLER: self._restart_controller,
            Action.ELECT: lambda _: self.administrator.elect("preferred"),
            Action.REASSIGN: lambda step: self.administrator.reassign(self.partitions[step.number], step.nodes),
            Action.CREATE: lambda step: self.administrator.create(self._aside(step), [step.nodes] * 2),
            Action.DELETE: lambda step: self.administrator.delete(self._aside(step)),
            Action.ELECT_UNCLEAN: self._elect_unclean,
        }
        actions[step.action](step)

    def _stop(self, node: int) -> None:
        try:
            self.cluster.stop(node)
        except TimeoutExpired:
            if node in self.cluster.ours:
                raise

    def _kill(self, node: int) -> None:
        self.cluster.kill(node)
        self._killed.add(node)

    def _lose(self, node: int) -> None:
        """End one of ours; it loses what it has not flushed where others have all that was acknowledged.

        Who was killed is no such other, though it counts as in sync until its last session is over: once that has
        ended it is not eligible, and who was in sync alone is elected again, whatever it has lost.
        """
        if not self._has_company(node):
            _log.info("%s: broker %d may be all that is in sync, and keeps what it has not flushed", self.topic, node)
            self._kill(node)
            return
        self.cluster.lose(node)
        self._killed.add(node)
        # Those others are not to be killed before they lead.
        wait_until(lambda: not self._is_counted_on(node), f"broker {node} is not in sync")

    def _has_company(self, node: int) -> bool:
        gone = {node, *self._killed}
        return all(
            set(view.isr) - gone for view in self._partitions().values() if node in view.replicas or not view.isr
        )

    def _is_counted_on(self, node: int) -> bool:
        return any(node in {view.leader, *view.isr} for view in self._partitions().values())

    def _pause(self, node: int, seconds: float) -> None:
        self.cluster.pause(node)
        time.sleep(seconds)
        self.cluster.resume(node)

    def _restart_controller(self, step: Step) -> None:
        self.cluster.kill(CONTROLLER)
        time.sleep(step.seconds)
        self.cluster.start(CONTROLLER)

    def _elect_unclean(self, step: Step) -> None:
        election = UncleanElection(self.cluster, f"{self.topic}-unclean-{step.number}", *step.nodes)
        self.elections.append(election)
        election.hold()

    def _aside(self, step: Step) -> str:
        return f"{self.topic}-aside-{step.number}"

    def _settle(self) -> None:
        """Start what is down, and wait until every partition has all its replicas in sync."""
        for node in self.cluster.ids:
            if not self.cluster.is_running(node):
                self.cluster.start(node, wait=False)
        wait_until(self._is_whole, "all replicas are in sync")

    def _is_whole(self) -> bool:
        dead = [node for node in self.cluster.nodes if not self.cluster.is_running(node)]
        assert not dead, f"nodes {dead} have ended by themselves"
        partitions = self._partitions()
        for partition, view in partitions.items():
            if set(view.adding) & set(view.removing):
                # It was being added and is to go: Kafka's controller waits for it in the ISR, of which it takes it out.
                self.administrator.cancel(partition)
        return all(map(_is_in_sync, partitions.values()))

    def _partitions(self) -> dict[TopicPartition, PartitionView]:
        """Return what is known of this round's partitions; as one that is not whole, what is not known at all."""
        known = self.administrator.partitions()
        mine = {each: view for each, view in known.items() if f"{each.topic}-".startswith(f"{self.topic}-")}
        expected = [*self.partitions, *(each.partition for each in self.elections)]
        return {each: PartitionView(partition=each) for each in expected} | mine

    def _check(self) -> None:
        known = self._partitions()
        partitions = dict(known)
        compacted_on = partitions.pop(self.compacted).replicas
        for partition, view in partitions.items():
            self.cluster.ensure_equal(partition, view.replicas)
        committed = {each: self._committed(each) for each in self.partitions}
        keyed = committed.pop(self.compacted)
        values = {each: {offset: value or b"" for offset, (_, value) in committed[each].items()} for each in committed}
        resumed = {each: self._resumed(each, view) for each, view in known.items() if each in self.partitions}
        for writer in self.writers:
            _check_written(writer, values[writer.partition], resumed[writer.partition])
        *readers, keyed_reader = self.readers
        for reader, there in zip(readers, values.values(), strict=True):
            _check_read(reader, there)
        transactional = self.transactions.partition
        self.markers_given_up = self.cluster.markers_given_up(transactional)
        visible = [value.decode() for value in values[transactional].values()]
        self.transactions.check(visible, given_up=self.markers_given_up)
        compacted.check_written(self.keyed_writer, keyed, resumed[self.compacted])
        compacted.check_read(keyed_reader, keyed, self.keyed_writer.sent)
        compacted.check_replicas(self.cluster, self.compacted, compacted_on, self.keyed_writer.sent)
        for election in self.elections:
            election.check()

    def _resumed(self, partition: TopicPartition, view: PartitionView) -> set[int]:
        return resumed_at(loaded(self.cluster.log_dir(view.replicas[0]), partition))

    def _committed(self, partition: TopicPartition) -> dict[int, KeyedRecord]:
        """Return what a consumer of committed records gets, by its offset."""
        messages = Target(self.cluster.bootstrap()).read(*partition)
        return {int(message.offset() or 0): KeyedRecord(message.key(), message.value()) for message in messages}


def _is_in_sync(view: PartitionView) -> bool:
    return view.has_leader and not view.is_reassigning and set(view.isr) == set(view.replicas)


def _check_written(writer: ChaosWriter, there: Mapping[int, bytes], resumed: AbstractSet[int]) -> None:
    """Check that a partition has what was acknowledged where that was, and nothing else. Raises AssertionError."""
    expected = [value_of(number) for number in range(writer.sent)]
    assert len(writer.acknowledged) == writer.sent
    misplaced = [
        number
        for number, offset in writer.acknowledged.items()
        if offset is not None and there.get(offset) != value_of(number)
    ]
    assert not misplaced, f"{writer.partition}: records {misplaced[:5]} are not where they were acknowledged"
    if writer.is_idempotent:
        in_order = without_resent(there, resumed)
        assert in_order == expected, f"records of {writer.partition} are twice there, or out of order"
    else:
        assert set(there.values()) == set(expected), f"{writer.partition} lacks records, or has some that nobody sent"


def _check_read(reader: ChaosReader, there: Mapping[int, bytes]) -> None:
    """Check that all that was ever read is still there. Raises AssertionError."""
    assert not reader.changed, reader.changed[:3]
    gone = [offset for offset, value in reader.seen.items() if there.get(offset) != value]
    assert not gone, f"{reader.topic}-{reader.partition}: what was read at {gone[:5]} is not there any more"
