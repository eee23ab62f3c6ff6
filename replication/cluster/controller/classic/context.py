"""What a controller remembers of its cluster (Kafka: ControllerContext)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.by_topic import ByTopic
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.partition_states import PartitionState
from replication.cluster.controller.classic.registered_broker import RegisteredBroker
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.replica_states import Replica, ReplicaState
from replication.cluster.controller.classic.selectors import Brokers


class StateChange(NamedTuple):
    """A line of the state-change log: what came from where to where, or why it did not."""

    subject: TopicPartition | Replica
    previous: PartitionState | ReplicaState
    target: PartitionState | ReplicaState
    error: str | None = None


@dataclass(slots=True)
class Context:
    """Everything but the coordination store; a new controller reads it from there."""

    registered: dict[int, RegisteredBroker] = field(default_factory=dict)
    """The brokers that live or shut down, by id."""
    shutting_down: set[int] = field(default_factory=set)
    topics: set[str] = field(default_factory=set)
    topic_ids: dict[str, UUID] = field(default_factory=dict)
    """Of the topics that have one, as all do that Kafka 2.8 or later created."""
    topic_names: dict[UUID, str] = field(default_factory=dict)
    """The same by id."""
    assignments: ByTopic[TopicPartition, ReplicaAssignment] = field(
        default_factory=lambda: ByTopic(lambda partition: partition.topic)
    )
    states: dict[TopicPartition, LeaderAndIsr] = field(default_factory=dict)
    """Who leads, as the store said last."""
    partition_states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    replica_states: ByTopic[Replica, ReplicaState] = field(
        default_factory=lambda: ByTopic(lambda replica: replica.partition.topic)
    )
    reassigning: set[TopicPartition] = field(default_factory=set)
    deleting: set[str] = field(default_factory=set)
    """Topics that are to be deleted."""
    parked: set[str] = field(default_factory=set)
    """Of those, the ones that cannot be for now (Kafka: ineligible)."""

    @property
    def broker_epochs(self) -> dict[int, int]:
        """Of the brokers that live or shut down, by id."""
        return {broker_id: broker.epoch for broker_id, broker in self.registered.items()}

    @property
    def brokers(self) -> Brokers:
        """Who is there."""
        return Brokers(frozenset(self.registered), frozenset(self.shutting_down))

    @property
    def live(self) -> frozenset[int]:
        """The brokers that can lead."""
        return frozenset(self.registered.keys() - self.shutting_down)

    def partition_state(self, partition: TopicPartition) -> PartitionState:
        """Return where a partition stands."""
        return self.partition_states.get(partition, PartitionState.NON_EXISTENT)

    def replica_state(self, replica: Replica) -> ReplicaState:
        """Return where a replica stands."""
        return self.replica_states.get(replica, ReplicaState.NON_EXISTENT)

    def is_deleting(self, partition: TopicPartition) -> bool:
        """Whether a partition's topic is to be deleted, and waits for none of its partitions that move.

        Those that it waits for are led until they have moved: else they never would.
        """
        return partition.topic in self.deleting and not self.is_moving(partition.topic)

    def is_moving(self, topic: str) -> bool:
        """Whether a partition of a topic moves."""
        return any(each.topic == topic for each in self.reassigning)

    def partitions_of(self, topics: Iterable[str]) -> list[TopicPartition]:
        """Return the partitions of topics."""
        return [each for topic in dict.fromkeys(topics) for each in self.assignments.of_topic(topic)]

    def replicas_of(self, partitions: Iterable[TopicPartition]) -> list[Replica]:
        """Return the replicas of partitions."""
        return [Replica(each, broker_id) for each in partitions for broker_id in self.assignments[each].replicas]

    def replicas_on(self, broker_ids: Iterable[int]) -> list[Replica]:
        """Return the replicas on brokers."""
        chosen = set(broker_ids)
        return [each for each in self.replicas_of(self.assignments) if each.broker_id in chosen]

    def name_topic(self, topic: str, topic_id: UUID | None) -> None:
        """Remember the id of a topic, where it has one."""
        if topic_id is not None:
            self.topic_ids[topic] = topic_id
            self.topic_names[topic_id] = topic

    def forget_topic(self, topic: str) -> None:
        """Remove all that is known about a topic."""
        topic_id = self.topic_ids.pop(topic, None)
        if topic_id is not None:
            del self.topic_names[topic_id]
        for replica in self.replica_states.of_topic(topic):
            del self.replica_states[replica]
        for partition in self.partitions_of([topic]):
            del self.assignments[partition]
            self.states.pop(partition, None)
            self.partition_states.pop(partition, None)
            self.reassigning.discard(partition)
        self.topics.discard(topic)
        self.deleting.discard(topic)
        self.parked.discard(topic)
