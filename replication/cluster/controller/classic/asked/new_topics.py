"""Topics that administrators and brokers ask for (Kafka: ZkAdminManager.createTopics)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final
from uuid import UUID

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.context import Context
from replication.cluster.controller.classic.errors import NodeExistsError
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.settings import ClassicSettings
from replication.cluster.controller.classic.store.cluster_store import ClusterStore
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.settings.setting_checks import check_topic_settings
from replication.cluster.controller.topic_names import TopicNames
from replication.cluster.controller.topics.replica_placement import UsableBroker, place_replicas
from replication.cluster.controller.topics.topics import DEFAULT, MorePartitions, NewTopic, TopicAnswer
from replication.wire.error_code import ErrorCode

_ID_BITS: Final = 128


@dataclass(frozen=True, slots=True)
class NewTopics:
    """Writes topics into the coordination store, where the controller then finds them."""

    context: Context
    store: ClusterStore
    settings: ClassicSettings
    random: Random = field(default_factory=Random)

    def create(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> list[TopicAnswer]:
        """Create topics, each for itself."""
        times = Counter(topic.name for topic in topics)
        return [
            self._answer(topic, is_repeated=times[topic.name] > 1, validate_only=validate_only)
            for topic in {topic.name: topic for topic in topics}.values()
        ]

    def new_id(self) -> UUID:
        """Return an id for a topic."""
        return UUID(int=self.random.getrandbits(_ID_BITS), version=4)

    def enlarge(self, more: MorePartitions, *, validate_only: bool = False) -> TopicAnswer:
        """Add partitions to a topic; its leaders are elected once the controller sees them."""
        try:
            added = self._added(more)
        except Refusal as refusal:
            return TopicAnswer(more.name, refusal.code, refusal.message)
        if not validate_only:
            for number, replicas in added.items():
                self.store.set_assignment(TopicPartition(more.name, number), ReplicaAssignment(replicas))
        return TopicAnswer(more.name)

    def _added(self, more: MorePartitions) -> dict[int, tuple[int, ...]]:
        """Return the replicas of new partitions. Raises Refusal."""
        if more.name not in self.context.topics or more.name in self.context.deleting:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic does not exist.")
        if self.context.is_moving(more.name):
            raise Refusal(ErrorCode.REASSIGNMENT_IN_PROGRESS, "A partition of the topic is being reassigned.")
        known = self.context.partitions_of([more.name])
        count = more.count - len(known)
        if count <= 0:
            message = f"The topic currently has {len(known)} partitions; {more.count} would not be an increase."
            raise Refusal(ErrorCode.INVALID_PARTITIONS, message)
        factor = len(self.context.assignments[known[0]].replicas)
        if more.assignments is None:
            replicas = place_replicas(self._usable(), count, factor, self.random)
        elif len(more.assignments) != count:
            message = f"{count} partitions are to be added, and replicas of {len(more.assignments)} are named."
            raise Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        else:
            replicas = self._checked(more.assignments, factor)
        return dict(enumerate(replicas, len(known)))

    def _answer(self, topic: NewTopic, *, is_repeated: bool, validate_only: bool) -> TopicAnswer:
        if is_repeated:
            return TopicAnswer(topic.name, ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        try:
            self._check(topic)
            replicas = self._assigned(topic) if topic.assignments else self._placed(topic)
        except Refusal as refusal:
            return TopicAnswer(topic.name, refusal.code, refusal.message)
        answer = TopicAnswer(topic.name, partitions=len(replicas), replication_factor=len(replicas[0]))
        return answer if validate_only else self._stored(topic, replicas, answer)

    def _check(self, topic: NewTopic) -> None:
        names = TopicNames()
        for name in self.context.topics:
            names.add(name)
        if topic.name in self.context.topics:
            raise _exists(topic.name)
        names.check(topic.name)
        check_topic_settings(topic.configs)

    def _placed(self, topic: NewTopic) -> list[tuple[int, ...]]:
        count = self.settings.num_partitions if topic.partitions == DEFAULT else topic.partitions
        factor = topic.replication_factor
        factor = self.settings.default_replication_factor if factor == DEFAULT else factor
        if count <= 0:
            raise Refusal(ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0.")
        return place_replicas(self._usable(), count, factor, self.random)

    def _usable(self) -> list[UsableBroker]:
        return [
            UsableBroker(broker_id, self.context.registered[broker_id].rack, fenced=False)
            for broker_id in self.context.live
        ]

    def _assigned(self, topic: NewTopic) -> list[tuple[int, ...]]:
        invalid = ErrorCode.INVALID_REPLICA_ASSIGNMENT
        if (topic.partitions, topic.replication_factor) != (DEFAULT, DEFAULT):
            message = "Both numPartitions or replicationFactor and replicasAssignments were set."
            raise Refusal(ErrorCode.INVALID_REQUEST, message)
        if set(topic.assignments) != set(range(len(topic.assignments))):
            raise Refusal(invalid, "partitions should be a consecutive 0-based integer sequence")
        replicas = [tuple(topic.assignments[number]) for number in range(len(topic.assignments))]
        return self._checked(replicas, len(replicas[0]))

    def _checked(self, replicas: Sequence[tuple[int, ...]], factor: int) -> list[tuple[int, ...]]:
        """Refuse replicas that no partition can have, or of another count."""
        invalid = ErrorCode.INVALID_REPLICA_ASSIGNMENT
        for each in replicas:
            unknown = [broker_id for broker_id in each if broker_id not in self.context.registered]
            if unknown:
                raise Refusal(invalid, f"Replica assignment has brokers that are not alive: {unknown}.")
            if not each or len(set(each)) < len(each) or len(each) != factor:
                raise Refusal(invalid, f"Replicas must be distinct, and as many for each partition: {list(each)}.")
        return [*replicas]

    def _stored(self, topic: NewTopic, replicas: Sequence[tuple[int, ...]], answer: TopicAnswer) -> TopicAnswer:
        topic_id = self.new_id()
        settings = {name: value for name, value in topic.configs.items() if value is not None}
        assignments = {number: ReplicaAssignment(each) for number, each in enumerate(replicas)}
        try:
            self.store.create_topic(topic.name, assignments, topic_id, settings)
        except NodeExistsError:
            refusal = _exists(topic.name)
            return TopicAnswer(topic.name, refusal.code, refusal.message)
        return answer._replace(topic_id=topic_id)


def _exists(name: str) -> Refusal:
    return Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
