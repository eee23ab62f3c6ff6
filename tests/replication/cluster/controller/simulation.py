"""A cluster whose brokers come, go, stall and crash under one controller, drawn from a seed.

    python -m tests.replication.cluster.controller.simulation SEED

repeats a seed and prints what happened.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, TypeVar
from uuid import UUID

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.controller import Controller, ControllerSettings
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.partition_index import PartitionKey
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.topics.reassignments import ReassignmentRequest
from replication.cluster.controller.topics.topics import MorePartitions, NewTopic
from replication.records.leadership.partition_change import without
from replication.records.leadership.rules import ELR_FEATURE
from replication.records.metadata.framing import decode, encode
from replication.records.metadata.metadata_version import (
    LATEST_METADATA_VERSION,
    METADATA_VERSION_FEATURE,
    MetadataVersion,
)
from replication.records.metadata.partition import LeaderRecoveryState, PartitionRegistration
from replication.records.metadata.records import FeatureLevelRecord, MetadataRecord
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import AlterPartitionRequest, InSyncReplica, IsrChange
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from replication.wire.messages.broker_registration import BrokerRegistrationRequest
from replication.wire.messages.elect_leaders import ElectionType
from tests.replication.cluster.controller.invariants import Invariants

T = TypeVar("T")

CLUSTER = "simulated"
HEARTBEAT_MS = 2000
STEPS = 60
LEVELS = (LATEST_METADATA_VERSION, LATEST_METADATA_VERSION, MetadataVersion.V3_7_IV2, MetadataVersion.V3_5_IV2)


@dataclass
class SimulatedBroker:
    """A broker as it sees itself."""

    broker_id: int
    rack: str | None
    directory: UUID
    epoch: int = -1
    running: bool = False
    paused: bool = False
    shutting_down: bool = False
    last_epoch: int = -1
    """Of its last start, where that ended in order."""


@dataclass
class Simulation:
    """One cluster, from its first record on."""

    seed: int
    newest: ClassVar[int] = LATEST_METADATA_VERSION
    """The latest level of `metadata.version` that the cluster's nodes know."""

    told: list[str] = field(default_factory=list)
    """What happened, for who repeats the seed."""

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.now = 0
        self.log: list[MetadataRecord] = []
        self.level = min(self.random.choice(LEVELS), self.newest)
        self.elr = self.level >= MetadataVersion.V4_0_IV1 and self.random.random() < 0.5
        self.brokers = [
            SimulatedBroker(broker_id, self.random.choice(["a", "b", None]), self._uuid())
            for broker_id in range(self.random.randint(3, 6))
        ]
        self.controller = self._new_controller()
        self.append(FeatureLevelRecord(name=METADATA_VERSION_FEATURE, feature_level=self.level))
        if self.elr:
            self.append(FeatureLevelRecord(name=ELR_FEATURE, feature_level=1))
        self.controller.activate(self.now)
        self.invariants = Invariants(self.controller)
        self.topics = 0

    def run(self) -> None:
        """Start the brokers, let things happen, and look at the invariants after each decision."""
        for broker in self.brokers:
            self._start(broker)
        self._create_topic()
        for _ in range(STEPS):
            action = self.random.choice(ACTIONS)
            self.told.append(f"{self.now:>7} {action.__name__.lstrip('_')}")
            getattr(self, action.__name__)()
        self._replace_controller()
        self.invariants.check_index()

    # What can happen

    def _time_passes(self) -> None:
        """Some seconds, in which those who live tell that they do."""
        for _ in range(self.random.randint(1, 5)):
            self.now += HEARTBEAT_MS
            for broker in self.brokers:
                if broker.running and not broker.paused:
                    self._heartbeat(broker)
            self._tick()

    def _long_silence(self) -> None:
        """All sessions run out at once."""
        self.now += self.controller.settings.broker_session_timeout_ms + 1
        self._tick()
        self._time_passes()

    def _start_one(self) -> None:
        stopped = [broker for broker in self.brokers if not broker.running]
        if stopped:
            self._start(self.random.choice(stopped))

    def _kill(self) -> None:
        broker = self._any_running()
        if broker:
            broker.running = False
            broker.last_epoch = -1

    def _pause_or_resume(self) -> None:
        broker = self._any_running()
        if broker:
            broker.paused = not broker.paused

    def _shut_down(self) -> None:
        broker = self._any_running()
        if broker:
            broker.shutting_down = True
            self._heartbeat(broker)

    def _unregister(self) -> None:
        stopped = [broker for broker in self.brokers if not broker.running]
        if stopped and self.random.random() < 0.3:
            self._decide(lambda: self.controller.unregister_broker(self.random.choice(stopped).broker_id))

    def _change_isr(self) -> None:
        """A leader that lives, or thinks that it leads still, shrinks or expands an ISR; some ask for nonsense."""
        named = self._any_partition()
        if named is None:
            return
        key, state = named
        sender = state.leader if self.random.random() < 0.9 else self.random.choice(self.brokers).broker_id
        registration = self.controller.cluster.image.brokers.get(sender)
        if registration is None:
            return
        others = [replica for replica in state.replicas if replica != sender]
        members = [sender, *self.random.sample(others, self.random.randint(0, len(others)))]
        if self.random.random() < 0.1:
            members = self.random.choices(range(len(self.brokers) + 1), k=len(members))
        stale = -1 if self.random.random() < 0.05 else 0
        change = IsrChange(
            *key,
            state.leader_epoch + stale,
            state.partition_epoch + stale,
            tuple(InSyncReplica(member) for member in members),
            LeaderRecoveryState.RECOVERED,
        )
        self._decide(
            lambda: self.controller.change_isrs(
                AlterPartitionRequest(broker_id=sender, broker_epoch=registration.epoch, changes=(change,))
            )
        )

    def _elect(self) -> None:
        kind = self.random.choice(list(ElectionType))
        partitions = None if self.random.random() < 0.3 else self._some_partitions()
        self.invariants.unclean_asked = kind is ElectionType.UNCLEAN
        self._decide(lambda: self.controller.elect_leaders(kind, partitions))

    def _create_topic(self) -> None:
        configs = {"min.insync.replicas": str(self.random.randint(1, 3))}
        if self.random.random() < 0.5:
            configs["unclean.leader.election.enable"] = "true"
        self.topics += 1
        topic = NewTopic(f"t{self.topics}", self.random.randint(1, 4), self.random.randint(1, 3), configs=configs)
        self._decide(lambda: self.controller.create_topics([topic]))

    def _add_partitions(self) -> None:
        topics = list(self.controller.cluster.image.topics)
        if topics:
            topic = self.random.choice(topics)
            more = MorePartitions(topic.name, len(topic.partitions) + self.random.randint(0, 2))
            self._decide(lambda: self.controller.add_partitions([more]))

    def _delete_topic(self) -> None:
        topics = list(self.controller.cluster.image.topics)
        if topics and self.random.random() < 0.3:
            self._decide(lambda: self.controller.delete_topics([self.random.choice(topics).id]))

    def _reassign(self) -> None:
        named = self._any_partition()
        if named is None:
            return
        key, state = named
        partition = self._name(key)
        registered = list(self.controller.cluster.image.brokers)
        wished = tuple(self.random.sample(registered, self.random.randint(1, min(4, len(registered)))))
        cancel = state.is_reassigning and self.random.random() < 0.5
        request = ReassignmentRequest(partition, None if cancel else wished)
        decision = self.controller.alter_reassignments([request])
        if decision.answer[0].error is ErrorCode.NONE:
            self.invariants.expect_replicas(key, _final(state, None if cancel else wished))
        self._append(decision)

    def _catch_up(self) -> None:
        """Leaders take all replicas that live into the ISR: reassignments complete, and the like."""
        for topic, number, state in list(self.controller.cluster.image.topics.partitions()):
            active = [replica for replica in state.replicas if replica in self.controller.cluster.active]
            if not state.has_leader or state.leader not in active:
                continue
            key = PartitionKey(topic.id, number)
            members = tuple(InSyncReplica(each, self.controller.cluster.image.brokers[each].epoch) for each in active)
            change = IsrChange(*key, state.leader_epoch, state.partition_epoch, members)
            epoch = self.controller.cluster.image.brokers[state.leader].epoch
            request = AlterPartitionRequest(broker_id=state.leader, broker_epoch=epoch, changes=(change,))
            self._decide(lambda request=request: self.controller.change_isrs(request))

    def _balance(self) -> None:
        self._decide(self.controller.balance_leaders)

    def _elect_uncleanly(self) -> None:
        self._decide(self.controller.elect_uncleanly)

    def _replace_controller(self) -> None:
        """Another controller takes over, which has nothing but the log, as it is written."""
        old = self.controller
        self.controller = self._new_controller()
        self.controller.replay(decode(encode(record, self.level)) for record in self.log)
        assert self.controller.cluster.image == old.cluster.image
        assert self.controller.cluster.index == old.cluster.index
        assert self.controller.cluster.active == old.cluster.active
        assert self.controller.next_offset == old.next_offset
        self.controller.activate(self.now)
        self.invariants.controller = self.controller

    # How it happens

    def append(self, *records: MetadataRecord) -> None:
        self.log += records
        self.controller.replay(records)

    def _decide(self, ask: Callable[[], Decision[T]]) -> T | None:
        try:
            decision = ask()
        except Refusal as refusal:
            self.told.append(f"        refused: {refusal}")
            return None
        return self._append(decision)

    def _append(self, decision: Decision[T]) -> T:
        self.log += decision.records
        self.told += (f"        {record}" for record in decision.records)
        answer = self.controller.appended(decision)
        self.invariants.check()
        return answer

    def _tick(self) -> None:
        while (decision := self.controller.tick(self.now)) is not None:
            self._append(decision)

    def _start(self, broker: SimulatedBroker) -> None:
        request = BrokerRegistrationRequest(
            broker_id=broker.broker_id,
            cluster_id=CLUSTER,
            incarnation_id=self._uuid(),
            listeners=(),
            features={
                METADATA_VERSION_FEATURE: range(7, self.newest + 1),
                ELR_FEATURE: range(2),
            },
            rack=broker.rack,
            log_dirs=(broker.directory,),
            previous_broker_epoch=broker.last_epoch,
        )
        epoch = self._decide(lambda: self.controller.register_broker(request, self.now))
        if epoch is None:
            return
        broker.epoch = epoch
        broker.running, broker.paused, broker.shutting_down = True, False, False
        self._heartbeat(broker)

    def _heartbeat(self, broker: SimulatedBroker) -> None:
        lag = self.random.choice([0, 0, 0, 5])
        request = BrokerHeartbeatRequest(
            broker_id=broker.broker_id,
            broker_epoch=broker.epoch,
            current_metadata_offset=self.controller.next_offset - 1 - lag,
            want_shut_down=broker.shutting_down,
        )
        answer = self._decide(lambda: self.controller.heartbeat(request, self.now))
        if answer is not None and answer.should_shut_down:
            broker.running = False
            broker.last_epoch = broker.epoch

    def _new_controller(self) -> Controller:
        settings = ControllerSettings(leader_imbalance_check_interval_ms=60_000)
        return Controller(CLUSTER, settings, random=self.random, new_topic_id=self._uuid)

    def _uuid(self) -> UUID:
        return UUID(int=self.random.getrandbits(128) | 1 << 127)

    def _any_running(self) -> SimulatedBroker | None:
        running = [broker for broker in self.brokers if broker.running]
        return self.random.choice(running) if running else None

    def _any_partition(self) -> tuple[PartitionKey, PartitionRegistration] | None:
        walk = self.controller.cluster.image.topics.partitions()
        partitions = [(PartitionKey(topic.id, number), state) for topic, number, state in walk]
        return self.random.choice(partitions) if partitions else None

    def _some_partitions(self) -> list[TopicPartition]:
        walk = self.controller.cluster.image.topics.partitions()
        partitions = [TopicPartition(topic.name, number) for topic, number, _ in walk]
        chosen = self.random.sample(partitions, self.random.randint(0, len(partitions)))
        return [*chosen, TopicPartition("nowhere", 0)]

    def _name(self, key: PartitionKey) -> TopicPartition:
        return TopicPartition(self.controller.cluster.image.topics.topic(key.topic_id).name, key.partition_id)


def _final(state: PartitionRegistration, wished: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return how a reassignment, or its cancellation (None), is to end."""
    if wished is None:
        return without(state.replicas, state.adding_replicas)
    if set(state.replicas) <= set(wished):
        return without(wished, state.removing_replicas)  # Where nothing else is removed, what is being removed is.
    return wished


ACTIONS = [
    *[Simulation._time_passes] * 6,
    Simulation._long_silence,
    *[Simulation._start_one] * 3,
    *[Simulation._kill] * 2,
    *[Simulation._pause_or_resume] * 2,
    *[Simulation._shut_down] * 2,
    Simulation._unregister,
    *[Simulation._change_isr] * 6,
    *[Simulation._elect] * 2,
    Simulation._create_topic,
    Simulation._add_partitions,
    Simulation._delete_topic,
    *[Simulation._reassign] * 4,
    *[Simulation._catch_up] * 3,
    Simulation._balance,
    Simulation._elect_uncleanly,
    Simulation._replace_controller,
]


if __name__ == "__main__":
    simulation = Simulation(int(sys.argv[1]))
    try:
        simulation.run()
    finally:
        sys.stdout.write("\n".join([*simulation.told, ""]))
