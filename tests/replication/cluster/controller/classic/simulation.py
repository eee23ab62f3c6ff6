"""A ZooKeeper-era cluster whose brokers come, go, stall and crash, each of them able to be the controller.

    python -m tests.replication.cluster.controller.classic.simulation SEED

repeats a seed and prints what happened.
"""

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from random import Random

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.commands.commands import (
    Command,
    LeaderAndIsrRequest,
    StopReplicaRequest,
)
from replication.cluster.controller.classic.controller import ClassicController
from replication.cluster.controller.classic.errors import BadVersionError, NodeExistsError, SessionLostError
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.settings import ClassicSettings
from replication.cluster.controller.classic.store import nodes
from replication.cluster.controller.classic.store.embedded_store import EmbeddedTree
from replication.cluster.controller.refusal import Refusal
from replication.records.metadata.configurations import UNCLEAN_LEADER_ELECTION
from replication.wire.error_code import ErrorCode
from replication.wire.messages.elect_leaders import ElectionType
from tests.replication.cluster.controller.classic.invariants import ClassicInvariants
from tests.replication.cluster.controller.classic.simulated_broker import ClassicBroker, CrashingStore

STEPS = 60
MOST_WRITES = 10_000
"""Of one round in which all catch up."""


class ClassicSimulation:
    """One cluster, from its first broker on."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.told: list[str] = []
        """What happened, for who repeats the seed."""
        self.now = 0
        self.tree = EmbeddedTree()
        self.admin = self.tree.session()
        self.settings = ClassicSettings(
            delete_topic_enable=self.random.random() < 0.9,
            leader_imbalance_check_interval_ms=60_000,
            defaults={UNCLEAN_LEADER_ELECTION: self.random.choice(["false", "false", "true"])},
        )
        self.brokers = [ClassicBroker(each) for each in range(self.random.randint(3, 6))]
        self.invariants = ClassicInvariants(self)
        self.topics = 0

    def run(self) -> None:
        for broker in self.brokers:
            self._start(broker)
        self._create_topic()
        for _ in range(STEPS):
            action = self.random.choice(ACTIONS)
            self.told.append(f"{self.now:>7} {action.__name__.lstrip('_')}")
            action(self)
            if self.random.random() < 0.7:
                self.settle()
        self.recover()

    @property
    def controller(self) -> ClassicController | None:
        active = [each.controller for each in self.brokers if each.controller is not None and each.controller.term]
        return active[0] if active else None

    def running(self) -> list[ClassicBroker]:
        return [each for each in self.brokers if each.session is not None]

    def settle(self) -> None:
        """Let everything happen that can, stalled brokers apart; then the invariants hold."""
        for _ in range(1000):
            for broker in self.running():
                self._process(broker)
            if not self._deliver() and (self.controller is not None or not self.running()):
                break
        else:
            raise AssertionError("it never comes to rest")
        self.invariants.check()

    def recover(self) -> None:
        """Let all brokers run and catch up: then nothing may be left to do."""
        self.told.append("recover")
        for broker in self.running():
            broker.stalled = False
            if broker.session is not None:
                broker.session.writes_left = None
        self.settle()
        for broker in self.brokers:
            if broker.shutting_down:
                self._stop(broker)
            if broker.session is None:
                self._start(broker)
        self.settle()
        while (before := self.tree.transaction) != self._caught_up():
            assert self.tree.transaction < before + MOST_WRITES, "it never comes to rest"
        self.invariants.check_recovered()

    def _caught_up(self) -> int:
        """Let all catch up, and return the store's last transaction."""
        for partition in self.partitions():
            self._catch_up_all(partition)
        self.settle()
        return self.tree.transaction

    def partitions(self) -> list[TopicPartition]:
        """Those that have ever been led."""
        return [each for each in self.invariants.listed() if self.admin.exists(nodes.state_path(each))]

    # What can happen

    def _time_passes(self) -> None:
        self.now += self.random.choice([50, 1000, 6000, 70_000])

    def _start_one(self) -> None:
        stopped = [each for each in self.brokers if each.session is None]
        if stopped:
            self._start(self.random.choice(stopped))

    def _kill(self) -> None:
        broker = self._any_running()
        if broker is not None:
            self._stop(broker)

    def _bounce(self) -> None:
        """Die and return before anybody looked."""
        broker = self._any_running()
        if broker is not None:
            self._stop(broker)
            self._start(broker)

    def _crash_controller(self) -> None:
        """The controller's session is lost at some write of the next that it does."""
        for broker in self.running():
            if broker.session is not None and broker.controller is self.controller:
                broker.session.writes_left = self.random.randint(0, 6)

    def _stall(self) -> None:
        broker = self._any_running()
        if broker is not None:
            broker.stalled = not broker.stalled

    def _shut_down(self) -> None:
        broker = self._any_running()
        if broker is None or self.controller is None:
            return
        known = nodes.BROKER_IDS
        epoch = self.admin.get(f"{known}/{broker.broker_id}").created
        with suppress(Refusal):
            left = self.controller.controlled_shutdown(broker.broker_id, epoch)
            broker.shutting_down = True
            if not left or self.random.random() < 0.3:
                self._deliver()
                self._stop(broker)

    def _create_topic(self) -> None:
        name = f"t{self.topics}"
        self.topics += 1
        if self.random.random() < 0.3:
            config = nodes.encode_config({UNCLEAN_LEADER_ELECTION: self.random.choice(["true", "false"])})
            self.admin.create(f"{nodes.TOPIC_CONFIGS}/{name}", config)
        assignments = {number: self._replicas() for number in range(self.random.randint(1, 3))}
        self.admin.create(nodes.topic_path(name), nodes.encode_assignments(assignments))

    def _add_partition(self) -> None:
        name = self._any_topic()
        if name is None:
            return
        path = nodes.topic_path(name)
        node = self.admin.get(path)
        assignments = nodes.decode_assignments(path, node.data)
        assignments[max(assignments, default=-1) + 1] = self._replicas()
        self.admin.set(path, nodes.encode_assignments(assignments), node.version)

    def _delete_topic(self) -> None:
        name = self.random.choice([self._any_topic(), "unknown"])
        with suppress(NodeExistsError):
            if name is not None:
                self.admin.create(f"{nodes.DELETE_TOPICS}/{name}")

    def _reassign_in_store(self) -> None:
        chosen = self._some_partitions()
        targets = {each: self._replicas().replicas for each in [*chosen, TopicPartition("nowhere", 0)]}
        with suppress(NodeExistsError):
            self.admin.create(nodes.REASSIGN_PARTITIONS, nodes.encode_reassignments(targets))

    def _reassign(self) -> None:
        for partition in self._some_partitions()[:1]:
            if self.controller is None:
                return
            target = self.random.choice([None, self._replicas().replicas])
            with suppress(Refusal):
                self.controller.reassign(partition, target)

    def _elect(self) -> None:
        if self.controller is not None:
            kind = self.random.choice([ElectionType.PREFERRED, ElectionType.UNCLEAN])
            self.invariants.unclean_asked = kind is ElectionType.UNCLEAN
            with suppress(Refusal):
                self.controller.elect_leaders(kind, self.random.choice([None, self._some_partitions()]))
            self.invariants.look()
            self.invariants.unclean_asked = False

    def _elect_in_store(self) -> None:
        with suppress(NodeExistsError):
            self.admin.create(nodes.PREFERRED_ELECTION, nodes.encode_partitions(self._some_partitions()))

    def _shrink_isr(self) -> None:
        for partition in self._some_partitions():
            isr = self._stored(partition).isr
            kept = tuple(each for each in isr if self.random.random() < 0.6)
            self._change_isr(partition, kept)

    def _catch_up(self) -> None:
        for partition in self._some_partitions():
            self._catch_up_all(partition)

    # How brokers do it

    def _start(self, broker: ClassicBroker) -> None:
        broker.session = CrashingStore(self.tree.session(), self.invariants.look_at_write)
        broker.shutting_down, broker.stalled, broker.controller_epoch = False, False, 0
        broker.held = {}
        broker.session.create(f"{nodes.BROKER_IDS}/{broker.broker_id}", b"{}", ephemeral=True)
        broker.controller = ClassicController(broker.broker_id, broker.session, self.settings)
        with suppress(SessionLostError):
            broker.controller.start(self.now)

    def _stop(self, broker: ClassicBroker) -> None:
        """Its commands are lost with it."""
        if broker.session is not None:
            broker.session.close()
        broker.session = broker.controller = None

    def _process(self, broker: ClassicBroker) -> None:
        if broker.controller is None:
            return
        broker.controller.process(self.now)
        if broker.session is not None and broker.session.writes_left == 0:
            broker.session.writes_left = None
        if not self.admin.exists(f"{nodes.BROKER_IDS}/{broker.broker_id}"):
            self._stop(broker)

    def _deliver(self) -> bool:
        """Let brokers answer some of what they were told, each in order; whether anything was told."""
        controller, any_told = self.controller, False
        if controller is None:
            return False
        for broker in self.running():
            queue = controller.queues.get(broker.broker_id)
            while queue is not None and not broker.stalled:
                command = queue.take(self.now)
                if command is None:
                    break
                any_told = True
                if self.random.random() < 0.05:
                    queue.failed(self.now)
                    self.now += 100
                    continue
                controller.answered(broker.broker_id, self._obey(broker, command))
        return any_told

    def _obey(self, broker: ClassicBroker, command: Command) -> dict[TopicPartition, ErrorCode]:
        if command.controller_epoch < broker.controller_epoch:
            return {}
        broker.controller_epoch = command.controller_epoch
        if isinstance(command, LeaderAndIsrRequest):
            # As brokers do: what they know of a leader epoch is newer than what they are told of it again.
            broker.held.update({each: told for each, told in command.partitions.items() if broker.is_news(each, told)})
        if isinstance(command, StopReplicaRequest):
            for partition, stop in command.partitions.items():
                broker.held.pop(partition, None)
                if stop.delete and self.random.random() < 0.1:
                    return {partition: ErrorCode.KAFKA_STORAGE_ERROR}
        return {}

    def _catch_up_all(self, partition: TopicPartition) -> None:
        """Let the leader take into the ISR whoever runs, follows it and is assigned."""
        leader = self._leader(partition)
        if leader is None:
            return
        replicas = leader.held[partition].assignment.replicas
        epoch = leader.held[partition].state.leader_epoch
        follows = [
            each.broker_id
            for each in self.running()
            if not each.shutting_down
            and partition in each.held
            and each.held[partition].state.leader_epoch == epoch
            and each.broker_id in replicas
        ]
        isr = self._stored(partition).isr
        self._change_isr(partition, (*isr, *(each for each in follows if each not in isr)))

    def _change_isr(self, partition: TopicPartition, isr: Iterable[int]) -> None:
        """As a leader does: on the ground of what the controller told it, and then with a notice."""
        leader = self._leader(partition)
        if leader is None or leader.session is None:
            return
        state = leader.held[partition].state
        members = tuple(dict.fromkeys((*isr, leader.broker_id)))
        if set(members) == set(self._stored(partition).isr):
            return
        data = nodes.encode_state(state._replace(isr=members))
        with suppress(BadVersionError, SessionLostError):
            version = leader.session.set(nodes.state_path(partition), data, state.version)
            known = state._replace(isr=members, version=version)
            leader.held[partition] = leader.held[partition]._replace(state=known)
            if self.random.random() < 0.8:
                notice = nodes.encode_partitions([partition])
                leader.session.create(nodes.ISR_CHANGE_PREFIX, notice, sequence=True)

    def _leader(self, partition: TopicPartition) -> ClassicBroker | None:
        """Who believes that it leads, and is right; others cannot write to the store."""
        stored = self._stored(partition)
        for broker in self.running():
            held = broker.held.get(partition)
            if held is None or broker.broker_id != stored.leader or broker.stalled:
                continue
            if (held.state.leader, held.state.leader_epoch) == (stored.leader, stored.leader_epoch):
                return broker
        return None

    def _stored(self, partition: TopicPartition) -> LeaderAndIsr:
        path = nodes.state_path(partition)
        node = self.admin.get(path)
        return nodes.decode_state(path, node.data, node.version)

    def _replicas(self) -> ReplicaAssignment:
        ids = [each.broker_id for each in self.brokers]
        return ReplicaAssignment(tuple(self.random.sample(ids, self.random.randint(1, min(3, len(ids))))))

    def _any_running(self) -> ClassicBroker | None:
        running = self.running()
        return self.random.choice(running) if running else None

    def _any_topic(self) -> str | None:
        names = self.admin.children(nodes.TOPICS)
        return self.random.choice(names) if names else None

    def _some_partitions(self) -> list[TopicPartition]:
        partitions = self.partitions()
        return self.random.sample(partitions, self.random.randint(0, len(partitions)))


ACTIONS: list[Callable[[ClassicSimulation], None]] = [
    *[ClassicSimulation._time_passes] * 3,
    *[ClassicSimulation._start_one] * 5,
    *[ClassicSimulation._kill] * 3,
    *[ClassicSimulation._bounce] * 2,
    *[ClassicSimulation._crash_controller] * 2,
    *[ClassicSimulation._stall] * 2,
    *[ClassicSimulation._shut_down] * 2,
    *[ClassicSimulation._create_topic] * 2,
    ClassicSimulation._add_partition,
    ClassicSimulation._delete_topic,
    *[ClassicSimulation._reassign_in_store] * 2,
    *[ClassicSimulation._reassign] * 2,
    *[ClassicSimulation._elect] * 2,
    ClassicSimulation._elect_in_store,
    *[ClassicSimulation._shrink_isr] * 3,
    *[ClassicSimulation._catch_up] * 5,
]


if __name__ == "__main__":
    simulation = ClassicSimulation(int(sys.argv[1]))
    try:
        simulation.run()
    finally:
        sys.stdout.write("\n".join([*simulation.told, ""]))
