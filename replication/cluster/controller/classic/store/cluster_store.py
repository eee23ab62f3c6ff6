"""What the controller reads from and writes to the coordination store (Kafka: KafkaZkClient).

Each write names the version of /controller_epoch that this controller's election made, so that the store refuses the
writes of one that was replaced without knowing.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from logstore.topic_partition import TopicPartition
from replication.base.int32 import parse_int32
from replication.cluster.controller.classic.errors import (
    BadVersionError,
    ControllerMovedError,
    MalformedNodeError,
    NodeExistsError,
    NoNodeError,
    SessionLostError,
    StateChangeError,
)
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.registered_broker import RegisteredBroker
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.store import nodes
from replication.cluster.controller.classic.store.coordination_store import (
    ANY_VERSION,
    Check,
    CoordinationStore,
    Create,
    Delete,
    Node,
    Operation,
    SetData,
    Watch,
)
from replication.cluster.controller.refusal import Refusal
from replication.wire.error_code import ErrorCode

T = TypeVar("T")
LAST_PRODUCER_ID: Final = 2**63 - 1
_DIRECTORIES: Final = (
    nodes.BROKER_IDS,
    nodes.TOPICS,
    nodes.TOPIC_CONFIGS,
    nodes.DELETE_TOPICS,
    nodes.ISR_CHANGES,
)


class StoredTopic(NamedTuple):
    """What a topic's node says."""

    assignments: dict[int, ReplicaAssignment]
    """By partition."""
    topic_id: UUID | None = None


class ClusterStore:
    """The nodes of a cluster, as one broker's controller sees them."""

    def __init__(self, store: CoordinationStore, broker_id: int, own: RegisteredBroker | None = None) -> None:
        """Give a controller that is no broker a registration of its own."""
        self.epoch = 0
        """Of this controller, once elected."""
        self._own = own
        self._own_path = f"{nodes.BROKER_IDS}/{broker_id}"
        self._registered_at: int | None = None
        self._store = store
        self._broker_id = broker_id
        self._epoch_version = ANY_VERSION

    # The controller's slot

    def prepare(self) -> None:
        """Create the nodes under which all others lie."""
        for path in _DIRECTORIES:
            self._create_if_missing(path)
        self._create_if_missing(nodes.CONTROLLER_EPOCH, b"0")

    def become_controller(self) -> bool:
        """Try to take the slot; raises the controller epoch with it. Whether this broker got it."""
        epoch = self._store.get(nodes.CONTROLLER_EPOCH)
        number = _number(nodes.CONTROLLER_EPOCH, epoch.data) + 1
        try:
            self._store.multi(
                [
                    Create(nodes.CONTROLLER, nodes.encode_controller(self._broker_id), ephemeral=True),
                    SetData(nodes.CONTROLLER_EPOCH, str(number).encode(), epoch.version),
                ]
            )
        except (NodeExistsError, BadVersionError):
            if not self._won_unanswered(epoch):
                return False
        self.epoch, self._epoch_version = number, epoch.version + 1
        return True

    def _won_unanswered(self, before: Node) -> bool:
        """Whether this broker got the slot, though the answer that said so was lost."""
        is_next = self._store.get(nodes.CONTROLLER_EPOCH).version == before.version + 1
        return is_next and self.controller() == self._broker_id

    def controller(self, watch: Watch | None = None) -> int | None:
        """Return who is the controller; None where nobody is."""
        if not self._store.exists(nodes.CONTROLLER, watch):
            return None
        found = self._get_or_none(nodes.CONTROLLER)
        return None if found is None else nodes.decode_controller(nodes.CONTROLLER, found)

    def give_up_slot(self) -> None:
        """Allow another broker to become the controller, unless that happened already."""
        with suppress(NoNodeError, ControllerMovedError, SessionLostError):
            self._write(Delete(nodes.CONTROLLER))

    # Brokers and topics

    def brokers(self, watch: Watch | None = None) -> dict[int, RegisteredBroker]:
        """Return the brokers that are registered, by id."""
        registered = {}
        for name in self._store.children(nodes.BROKER_IDS, watch):
            path = f"{nodes.BROKER_IDS}/{name}"
            with suppress(NoNodeError):
                registered[_number(path, name.encode())] = _registered(path, self._store.get(path))
        if self._own is not None:
            registered.pop(self._broker_id, None)
        return registered

    def register(self) -> None:
        """Register this controller where brokers look for it; without one of its own it is somewhere else.

        Raises NodeExistsError where a broker of the same id is registered.
        """
        if self._own is not None:
            path, data = self._own_path, nodes.encode_broker(self._own, time.time_ns() // 1_000_000)
            self._write(Create(path, data, ephemeral=True))
            self._registered_at = self._store.get(path).created

    def unregister(self) -> None:
        """Remove this controller's registration, and no other's."""
        registered_at, self._registered_at = self._registered_at, None
        with suppress(NoNodeError, SessionLostError):
            if registered_at is not None and self._store.get(self._own_path).created == registered_at:
                self._store.delete(self._own_path)

    def topics(self, watch: Watch | None = None) -> list[str]:
        """Return the names of the topics."""
        return self._store.children(nodes.TOPICS, watch)

    def topic(self, topic: str, watch: Watch | None = None) -> StoredTopic:
        """Return the replicas of a topic's partitions, and its id; no partitions where it is gone."""
        path = nodes.topic_path(topic)
        try:
            data = self._store.get(path, watch).data
        except NoNodeError:
            return StoredTopic({})
        return StoredTopic(nodes.decode_assignments(path, data), nodes.decode_topic_id(path, data))

    def name_topic(self, topic: str, topic_id: UUID) -> None:
        """Give an id to a topic that has none, unless it is gone."""
        path = nodes.topic_path(topic)

        def write() -> None:
            node = self._store.get(path)
            self._write(SetData(path, nodes.named_topic(path, node.data, topic_id), node.version))

        with suppress(NoNodeError):
            _until_unchanged(write)

    def set_assignment(self, partition: TopicPartition, assignment: ReplicaAssignment | None) -> None:
        """Write one partition's replicas, or that it has none, unless the topic is gone.

        What others wrote about its siblings meanwhile is kept.
        """
        path = nodes.topic_path(partition.topic)

        def write() -> None:
            node = self._store.get(path)
            assignments = nodes.decode_assignments(path, node.data)
            assignments.pop(partition.partition, None)
            if assignment is not None:
                assignments[partition.partition] = assignment
            changed = nodes.changed_assignments(path, node.data, dict(sorted(assignments.items())))
            self._write(SetData(path, changed, node.version))

        with suppress(NoNodeError):
            _until_unchanged(write)

    def create_topic(
        self, topic: str, assignments: nodes.Assignments, topic_id: UUID, settings: Mapping[str, str]
    ) -> None:
        """Write a topic's settings, and then its replicas. Raises NodeExistsError where there is one."""
        if self._store.exists(nodes.topic_path(topic)):
            raise NodeExistsError(nodes.topic_path(topic))
        config, data = f"{nodes.TOPIC_CONFIGS}/{topic}", nodes.encode_config(settings)
        try:
            self._write(Create(config, data))
        except NodeExistsError:  # of an earlier topic of this name
            self._write(SetData(config, data, ANY_VERSION))
        self._write(Create(nodes.topic_path(topic), nodes.encode_assignments(assignments, topic_id)))

    def config(self, topic: str) -> dict[str, str]:
        """Return the settings of a topic."""
        path = f"{nodes.TOPIC_CONFIGS}/{topic}"
        data = self._get_or_none(path)
        return {} if data is None else nodes.decode_config(path, data)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic, its settings, and the request to delete it, in this order."""
        for path in (nodes.topic_path(topic), f"{nodes.TOPIC_CONFIGS}/{topic}", f"{nodes.DELETE_TOPICS}/{topic}"):
            self._delete_with_children(path)

    # Leaders

    def state(self, partition: TopicPartition, watch: Watch | None = None) -> LeaderAndIsr | None:
        """Return who leads a partition; None where nobody ever did."""
        path = nodes.state_path(partition)
        try:
            node = self._store.get(path, watch)
        except NoNodeError:
            return None
        return nodes.decode_state(path, node.data, node.version)

    def state_to_change(self, partition: TopicPartition) -> LeaderAndIsr:
        """Return who leads a partition; StateChangeError where this controller cannot change that."""
        try:
            current = self.state(partition)
        except MalformedNodeError as error:
            raise StateChangeError(str(error)) from error
        if current is None:
            raise StateChangeError(f"{partition} has no leader in the store, though it should have had one")
        if current.controller_epoch > self.epoch:
            raise StateChangeError(
                f"{partition} was written by a controller of epoch {current.controller_epoch}, and this one's is "
                f"{self.epoch}: another broker is the controller"
            )
        return current

    def create_state(self, partition: TopicPartition, state: LeaderAndIsr) -> LeaderAndIsr:
        """Write a partition's first leader; NodeExistsError where it has one."""
        path = nodes.state_path(partition)
        above, below, _ = path.rsplit("/", 2)
        for parent in (above, f"{above}/{below}"):
            if not self._store.exists(parent):
                self._write(Create(parent))
        written = state._replace(controller_epoch=self.epoch, version=0)
        self._write(Create(path, nodes.encode_state(written)))
        return written

    def set_state(self, partition: TopicPartition, state: LeaderAndIsr) -> LeaderAndIsr:
        """Write a partition's state over the one that it was made of; BadVersionError where that is not the last."""
        written = state._replace(controller_epoch=self.epoch)
        self._write(SetData(nodes.state_path(partition), nodes.encode_state(written), state.version))
        return written._replace(version=state.version + 1)

    # Requests

    def deletions(self, watch: Watch | None = None) -> list[str]:
        """Return the topics that are to be deleted."""
        return self._store.children(nodes.DELETE_TOPICS, watch)

    def ask_deletion(self, topic: str) -> None:
        """Put a topic on the list of those that are to be deleted."""
        with suppress(NodeExistsError):
            self._write(Create(f"{nodes.DELETE_TOPICS}/{topic}"))

    def remove_deletion(self, topic: str) -> None:
        """Drop the request to delete a topic."""
        self._delete_with_children(f"{nodes.DELETE_TOPICS}/{topic}")

    def reassignments(self, watch: Watch | None = None) -> dict[TopicPartition, tuple[int, ...]]:
        """Return where partitions are to move."""
        path = nodes.REASSIGN_PARTITIONS
        self._store.exists(path, watch)
        data = self._get_or_none(path)
        return {} if data is None else nodes.decode_reassignments(path, data)

    def remove_reassignment(self, partition: TopicPartition) -> None:
        """Drop the request to move a partition, and the node with the last one."""
        path = nodes.REASSIGN_PARTITIONS

        def write() -> None:
            node = self._store.get(path)
            wanted = nodes.decode_reassignments(path, node.data)
            if wanted.pop(partition, None) is None and wanted:
                return
            rest = SetData(path, nodes.encode_reassignments(wanted), node.version)
            self._write(rest if wanted else Delete(path, node.version))

        with suppress(NoNodeError):
            _until_unchanged(write)

    def preferred_election(self, watch: Watch | None = None) -> list[TopicPartition] | None:
        """Return the partitions for which a preferred election is asked; None where none is."""
        path = nodes.PREFERRED_ELECTION
        self._store.exists(path, watch)
        data = self._get_or_none(path)
        return None if data is None else nodes.decode_partitions(path, data)

    def remove_preferred_election(self) -> None:
        """Drop the request for a preferred election."""
        self._delete_with_children(nodes.PREFERRED_ELECTION)

    def isr_changes(self, watch: Watch | None = None) -> list[str]:
        """Return the names of the notices that leaders changed an ISR."""
        return self._store.children(nodes.ISR_CHANGES, watch)

    def isr_change(self, name: str) -> list[TopicPartition]:
        """Return the partitions that a notice names."""
        path = f"{nodes.ISR_CHANGES}/{name}"
        data = self._get_or_none(path)
        return [] if data is None else nodes.decode_partitions(path, data)

    def remove_isr_change(self, name: str) -> None:
        """Drop a notice."""
        self._delete_with_children(f"{nodes.ISR_CHANGES}/{name}")

    def remove_malformed(self, path: str) -> None:
        """Drop a request that nobody can read."""
        self._delete_with_children(path)

    # Producers

    def take_producer_ids(self, broker_id: int, count: int) -> int:
        """Give a broker ids that nobody else has got, for its producers; return the first."""

        def take() -> int:
            self._create_if_missing(nodes.PRODUCER_IDS)
            node = self._store.get(nodes.PRODUCER_IDS)
            first = nodes.decode_producer_ids(nodes.PRODUCER_IDS, node.data) + 1 if node.data else 0
            if first > LAST_PRODUCER_ID - count:
                raise Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, "There are no producer ids left.")
            data = nodes.encode_producer_ids(broker_id, first, count)
            self._write(SetData(nodes.PRODUCER_IDS, data, node.version))
            return first

        return _until_unchanged(take)

    # Reading and writing

    def _write(self, *operations: Operation) -> None:
        try:
            self._store.multi([Check(nodes.CONTROLLER_EPOCH, self._epoch_version), *operations])
        except BadVersionError as error:
            if error.path != nodes.CONTROLLER_EPOCH:
                raise
            raise ControllerMovedError(
                f"broker {self._broker_id} is no longer the controller: {nodes.CONTROLLER_EPOCH} has moved on from "
                f"{self.epoch}; it must resign"
            ) from error

    def _get_or_none(self, path: str) -> bytes | None:
        try:
            return self._store.get(path).data
        except NoNodeError:
            return None

    def _create_if_missing(self, path: str, data: bytes = b"") -> None:
        with suppress(NodeExistsError):
            if not self._store.exists(path):
                self._store.create(path, data)

    def _delete_with_children(self, path: str) -> None:
        with suppress(NoNodeError):
            for name in self._store.children(path):
                self._delete_with_children(f"{path}/{name}")
            self._write(Delete(path))


def _until_unchanged(write: Callable[[], T]) -> T:
    """Read and write again, for as long as others write in between."""
    while True:
        try:
            return write()
        except BadVersionError:
            continue


def _registered(path: str, node: Node) -> RegisteredBroker:
    """Return a registration; of one that cannot be read that it is there, so that the others count all the same."""
    try:
        return nodes.decode_broker(path, node.data, node.created)
    except MalformedNodeError:
        return RegisteredBroker(node.created)


def _number(path: str, text: bytes) -> int:
    number = parse_int32(text.decode(errors="replace"))
    if number is None:
        raise MalformedNodeError(path, f"{text!r:.60} is not an int32")
    return number
