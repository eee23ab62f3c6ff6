"""A cluster of the ZooKeeper era in this process: brokers that do as they are told, over an embedded store."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.commands.commands import (
    Command,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from replication.cluster.controller.classic.context import Context, StateChange
from replication.cluster.controller.classic.controller import ClassicController
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.settings import ClassicSettings
from replication.cluster.controller.classic.store import nodes
from replication.cluster.controller.classic.store.coordination_store import (
    Check,
    CoordinationStore,
    Delete,
    Node,
    Operation,
    Watch,
)
from replication.cluster.controller.classic.store.embedded_store import EmbeddedTree
from replication.cluster.controller.classic.term import Term
from replication.wire.error_code import ErrorCode

CONTROLLER = 100
"""It holds no replicas, so that brokers can die one by one."""


class JournalingStore:
    """A session that tells what it is used for: ("watch", path), ("read", path), ("write", operation)."""

    def __init__(self, session: CoordinationStore, journal: list[tuple[Any, ...]]) -> None:
        self._session = session
        self._journal = journal

    def exists(self, path: str, watch: Watch | None = None) -> bool:
        if watch:
            self._journal.append(("watch", path))
        return self._session.exists(path, watch)

    def get(self, path: str, watch: Watch | None = None) -> Node:
        self._journal.append(("watch" if watch else "read", path))
        return self._session.get(path, watch)

    def children(self, path: str, watch: Watch | None = None) -> list[str]:
        self._journal.append(("watch" if watch else "read", path))
        return self._session.children(path, watch)

    def multi(self, operations: Sequence[Operation]) -> None:
        self._session.multi(operations)
        self._journal += [("write", each) for each in operations if not isinstance(each, Check)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def named(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))


class ClassicCluster:
    """`begin` starts the controller, over what the store holds by then."""

    def __init__(self, brokers: Iterable[int] = (1, 2, 3), settings: ClassicSettings | None = None) -> None:
        self.tree = EmbeddedTree()
        self.admin = self.tree.session()
        self.sessions: dict[int, CoordinationStore] = {}
        self.now = 0
        self.changes: list[StateChange] = []
        self.sent: list[tuple[int, Command]] = []
        """What brokers were told, in the order in which they were."""
        self.deaf: set[int] = set()
        """Brokers that answer nothing."""
        self.failing: set[int] = set()
        """Brokers that cannot delete."""
        self.journal: list[tuple[Any, ...]] = []
        """How the controller uses the store, and ("change", StateChange) for what it changes."""
        self.settings = settings or ClassicSettings()
        self.elect_controller()
        for broker_id in brokers:
            self.register(broker_id)

    def elect_controller(self) -> None:
        """Have a controller that is not begun, in place of any earlier one."""
        self.controller_session = self.tree.session()
        store = JournalingStore(self.controller_session, self.journal)
        self.controller = ClassicController(CONTROLLER, store, self.settings, tell=self._changed)

    def _changed(self, change: StateChange) -> None:
        self.changes.append(change)
        self.journal.append(("change", change))

    @property
    def term(self) -> Term:
        assert self.controller.term is not None
        return self.controller.term

    @property
    def context(self) -> Context:
        return self.term.context

    def begin(self) -> None:
        self.controller.start(self.now)
        self.settle()

    def register(self, broker_id: int) -> None:
        self.sessions[broker_id] = self.tree.session()
        self.sessions[broker_id].create(f"{nodes.BROKER_IDS}/{broker_id}", b"{}", ephemeral=True)

    def start(self, broker_id: int) -> None:
        self.register(broker_id)
        self.settle()

    def kill(self, broker_id: int) -> None:
        self.sessions.pop(broker_id).close()
        self.settle()

    def write_topic(self, topic: str, assignments: Mapping[int, Sequence[int]]) -> None:
        data = nodes.encode_assignments(
            {number: ReplicaAssignment(tuple(each)) for number, each in assignments.items()}
        )
        if self.admin.exists(nodes.topic_path(topic)):
            self.admin.set(nodes.topic_path(topic), data)
        else:
            self.admin.create(nodes.topic_path(topic), data)

    def write_state(self, partition: TopicPartition, state: LeaderAndIsr) -> None:
        self.admin.create(nodes.state_path(partition), nodes.encode_state(state))

    def topic(self, topic: str, *replicas: Sequence[int]) -> None:
        self.write_topic(topic, dict(enumerate(replicas)))
        self.settle()

    def ask_deletion(self, topic: str) -> None:
        self.admin.create(f"{nodes.DELETE_TOPICS}/{topic}")
        self.settle()

    def ask_reassignment(self, targets: Mapping[TopicPartition, Sequence[int]]) -> None:
        self.admin.create(nodes.REASSIGN_PARTITIONS, nodes.encode_reassignments(targets))
        self.settle()

    def state(self, partition: TopicPartition) -> LeaderAndIsr:
        """What the store says."""
        path = nodes.state_path(partition)
        node = self.admin.get(path)
        return nodes.decode_state(path, node.data, node.version)

    def assignment(self, partition: TopicPartition) -> ReplicaAssignment:
        """What the store says."""
        path = nodes.topic_path(partition.topic)
        return nodes.decode_assignments(path, self.admin.get(path).data)[partition.partition]

    def set_isr(self, partition: TopicPartition, *isr: int) -> None:
        """As the leader does: the state first, then a notice."""
        state = self.state(partition)
        self.admin.set(nodes.state_path(partition), nodes.encode_state(state._replace(isr=isr)), state.version)
        self.admin.create(nodes.ISR_CHANGE_PREFIX, nodes.encode_partitions([partition]), sequence=True)
        self.settle()

    def settle(self) -> None:
        """Let everything happen that can."""
        while True:
            self.controller.process(self.now)
            if not self.deliver():
                return

    def deliver(self) -> bool:
        """Let each broker answer what it was told; whether there was anything."""
        any_sent = False
        for broker_id, queue in list(self.controller.queues.items()):
            while broker_id not in self.deaf and (command := queue.take(self.now)) is not None:
                self.sent.append((broker_id, command))
                self.controller.answered(broker_id, self._errors(broker_id, command))
                any_sent = True
        return any_sent

    def _errors(self, broker_id: int, command: Command) -> dict[TopicPartition, ErrorCode]:
        if broker_id in self.failing and isinstance(command, StopReplicaRequest):
            return dict.fromkeys(command.partitions, ErrorCode.KAFKA_STORAGE_ERROR)
        return {}

    # What brokers were told

    def told_to_lead_or_follow(self, partition: TopicPartition) -> list[tuple[int, LeaderAndIsr]]:
        return [
            (broker_id, command.partitions[partition].state)
            for broker_id, command in self.sent
            if isinstance(command, LeaderAndIsrRequest) and partition in command.partitions
        ]

    def deleted_nodes(self) -> list[str]:
        return [each[1].path for each in self.journal if each[0] == "write" and isinstance(each[1], Delete)]

    def told_to_stop(self, partition: TopicPartition) -> list[tuple[int, bool]]:
        return [
            (broker_id, command.partitions[partition].delete)
            for broker_id, command in self.sent
            if isinstance(command, StopReplicaRequest) and partition in command.partitions
        ]

    def told_metadata(self) -> list[tuple[int, UpdateMetadataRequest]]:
        return [(broker, command) for broker, command in self.sent if isinstance(command, UpdateMetadataRequest)]


P, Q = named("t-0"), named("t-1")


def leader_and_isr(cluster: ClassicCluster, partition: TopicPartition = P) -> tuple[int, tuple[int, ...]]:
    state = cluster.state(partition)
    return state.leader, state.isr
