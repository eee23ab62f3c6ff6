"""Topics that are made, enlarged and deleted (Kafka: CreateTopics, CreatePartitions, DeleteTopics)."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple
from uuid import UUID

from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.settings.effective_settings import EffectiveSetting, effective_settings
from replication.cluster.controller.settings.setting_changes import clear_elr
from replication.cluster.controller.settings.setting_checks import check_topic_settings
from replication.cluster.controller.topics.assignment import check_assignment, invalid_assignment
from replication.cluster.controller.topics.replica_placement import UsableBroker, place_replicas
from replication.records.leadership.partition_change import ReplicaIds
from replication.records.metadata.configurations import ConfigResource, ConfigResourceType
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import ConfigRecord, MetadataRecord, RemoveTopicRecord, TopicRecord
from replication.records.metadata.topics import Topic
from replication.wire.error_code import ErrorCode

DEFAULT: Final = -1
"""As many as the controller's settings say."""
PARTITIONS_PER_REQUEST: Final = 10_000


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to make: counts of partitions and replicas, or the replicas of each partition."""

    name: str
    partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: Mapping[int, ReplicaIds] = field(default_factory=dict)
    """By partition."""
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MorePartitions:
    """How many partitions a topic shall have, and the replicas of the new ones where that is to be so."""

    name: str
    count: int
    assignments: Sequence[ReplicaIds] | None = None


class TopicAnswer(NamedTuple):
    """What became of one topic."""

    topic: str | UUID
    """As the request named it."""
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    topic_id: UUID | None = None
    """Of a topic that was made, or deleted."""
    partitions: int = -1
    """How many a topic that was made has, and how many replicas each of them."""
    replication_factor: int = -1
    settings: tuple[EffectiveSetting, ...] = ()
    """What holds for a topic that was made."""


@dataclass(frozen=True, slots=True)
class TopicMaker:
    """How topics are made: with which counts by default, and with what chance."""

    random: Random
    new_topic_id: Callable[[], UUID]
    partitions: int = 1
    """`num.partitions`."""
    replication_factor: int = 1
    """`default.replication.factor`."""

    def create(
        self, cluster: ClusterState, topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> Decision[list[TopicAnswer]]:
        """Make topics, each for itself. Refuses all with POLICY_VIOLATION where they have too many partitions."""
        total = sum(len(topic.assignments) or max(topic.partitions, 0) or self.partitions for topic in topics)
        if total > PARTITIONS_PER_REQUEST:
            raise _too_many("partitions")
        times = Counter(topic.name for topic in topics)
        records: list[MetadataRecord] = []
        answers: dict[str, TopicAnswer] = {}
        for topic in topics:
            try:
                _check_new(cluster, topic, times[topic.name])
                answers[topic.name] = self._create(cluster, topic, records)
            except Refusal as refusal:
                answers[topic.name] = TopicAnswer(topic.name, refusal.code, refusal.message)
        return Decision([] if validate_only else records, list(answers.values()))

    def add_partitions(
        self, cluster: ClusterState, requests: Iterable[MorePartitions], *, validate_only: bool = False
    ) -> Decision[list[TopicAnswer]]:
        """Enlarge topics, each for itself. Refuses all with POLICY_VIOLATION where they get too many partitions."""
        asked = list(requests)
        if sum(_additional_partitions(cluster, request) for request in asked) > PARTITIONS_PER_REQUEST:
            raise _too_many("additional partitions")
        times = Counter(request.name for request in asked)
        records: list[MetadataRecord] = []
        answers: dict[str, TopicAnswer] = {}
        for request in asked:
            try:
                _check_once(request.name, times[request.name])
                records += self._add_partitions(cluster, request)
                answers[request.name] = TopicAnswer(request.name)
            except Refusal as refusal:
                answers[request.name] = TopicAnswer(request.name, refusal.code, refusal.message)
        return Decision([] if validate_only else records, list(answers.values()))

    def _create(self, cluster: ClusterState, topic: NewTopic, records: list[MetadataRecord]) -> TopicAnswer:
        partitions = _assigned(cluster, topic) if topic.assignments else self._placed(cluster, topic)
        topic_id = self.new_topic_id()
        records.append(TopicRecord(name=topic.name, topic_id=topic_id))
        records += (
            ConfigRecord(resource_type=ConfigResourceType.TOPIC, resource_name=topic.name, name=name, value=value)
            for name, value in topic.configs.items()
        )
        records += clear_elr(cluster, ConfigResource(ConfigResourceType.TOPIC, topic.name), topic.configs)
        level = cluster.rules.metadata_version
        records += (state.record(topic_id, number, level) for number, state in enumerate(partitions))
        return TopicAnswer(
            topic.name,
            topic_id=topic_id,
            partitions=len(partitions),
            replication_factor=len(partitions[0].replicas),
            settings=tuple(effective_settings(cluster, topic.configs)),
        )

    def _placed(self, cluster: ClusterState, topic: NewTopic) -> list[PartitionRegistration]:
        if topic.replication_factor < DEFAULT or topic.replication_factor == 0:
            raise Refusal(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            )
        if topic.partitions < DEFAULT or topic.partitions == 0:
            raise Refusal(
                ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
            )
        count = self.partitions if topic.partitions == DEFAULT else topic.partitions
        factor = self.replication_factor if topic.replication_factor == DEFAULT else topic.replication_factor
        try:
            placed = place_replicas(_usable_brokers(cluster), count, factor, self.random)
        except Refusal as refusal:
            message = f"Unable to replicate the partition {factor} time(s): {refusal.message}"
            raise Refusal(refusal.code, message) from None
        return [_started(cluster, replicas, nobody=_not_replicable(factor)) for replicas in placed]

    def _add_partitions(self, cluster: ClusterState, request: MorePartitions) -> list[MetadataRecord]:
        topic = cluster.topic_named(request.name)
        if topic is None:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        count = len(topic.partitions)
        if request.count == count:
            raise Refusal(ErrorCode.INVALID_PARTITIONS, f"Topic already has {count} partition(s).")
        if request.count < count:
            raise Refusal(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic {topic.name} currently has {count} partition(s); {request.count} would not be an increase.",
            )
        partitions = self._additional(cluster, request, count, factor=len(topic.partitions[0].replicas))
        level = cluster.rules.metadata_version
        return [state.record(topic.id, number, level) for number, state in enumerate(partitions, count)]

    def _additional(
        self, cluster: ClusterState, request: MorePartitions, count: int, factor: int
    ) -> list[PartitionRegistration]:
        additional = request.count - count
        if request.assignments is None:
            placed = place_replicas(_usable_brokers(cluster), additional, factor, self.random)
            return [_started(cluster, replicas, nobody=_not_replicable(factor)) for replicas in placed]
        if len(request.assignments) != additional:
            raise invalid_assignment(
                f"Attempted to add {additional} additional partition(s), but only {len(request.assignments)} "
                "assignment(s) were specified."
            )
        partitions = []
        for number, replicas in enumerate(request.assignments, count):
            check_assignment(cluster, replicas, factor)
            partitions.append(_started(cluster, replicas, nobody=_nobody_active(number)))
        return partitions


def delete_topics(cluster: ClusterState, topics: Iterable[str | UUID]) -> Decision[list[TopicAnswer]]:
    """Delete topics by name or by id, each for itself; not one that is named twice, and be it once in either way."""
    asked = [(named, _topic(cluster, named)) for named in topics]
    times = Counter(topic.id if topic else named for named, topic in asked)
    records: list[MetadataRecord] = []
    answers = []
    for named, topic in dict(asked).items():
        try:
            _check_once(named, times[topic.id if topic else named])
        except Refusal as refusal:
            answers.append(TopicAnswer(named, refusal.code, refusal.message))
            continue
        if topic is None:
            by_id = isinstance(named, UUID)
            error = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            answers.append(TopicAnswer(named, error))
            continue
        records.append(RemoveTopicRecord(topic_id=topic.id))
        answers.append(TopicAnswer(named, topic_id=topic.id))
    return Decision(records, answers)


def _topic(cluster: ClusterState, named: str | UUID) -> Topic | None:
    return cluster.topic_named(named) if isinstance(named, str) else cluster.image.topics.by_id.get(named)


def _check_once(named: str | UUID, times: int) -> None:
    """Refuse what one request names twice: what is decided first would not be known to what is decided then."""
    if times > 1:
        raise Refusal(ErrorCode.INVALID_REQUEST, f"Duplicate topic {'name' if isinstance(named, str) else 'id'}.")


def _additional_partitions(cluster: ClusterState, request: MorePartitions) -> int:
    topic = cluster.topic_named(request.name)
    return 0 if topic is None else max(request.count - len(topic.partitions), 0)


def _too_many(what: str) -> Refusal:
    return Refusal(ErrorCode.POLICY_VIOLATION, f"Excessively large number of {what} per request.")


def _check_new(cluster: ClusterState, topic: NewTopic, times: int) -> None:
    _check_once(topic.name, times)
    if topic.name in cluster.image.topics.by_name:
        raise Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
    cluster.topic_names.check(topic.name)
    check_topic_settings(topic.configs)


def _assigned(cluster: ClusterState, topic: NewTopic) -> list[PartitionRegistration]:
    wrong = "A manual partition assignment was specified, but {} was not set to -1."
    if topic.replication_factor != DEFAULT:
        raise Refusal(ErrorCode.INVALID_REQUEST, wrong.format("replication factor"))
    if topic.partitions != DEFAULT:
        raise Refusal(ErrorCode.INVALID_REQUEST, wrong.format("numPartitions"))
    factor: int | None = None
    partitions = {}
    for number, replicas in topic.assignments.items():
        check_assignment(cluster, replicas, factor)
        factor = len(replicas)
        partitions[number] = _started(cluster, replicas, nobody=_nobody_active(number))
    if set(partitions) != set(range(len(partitions))):
        raise invalid_assignment("partitions should be a consecutive 0-based integer sequence")
    return [partitions[number] for number in range(len(partitions))]


def _started(cluster: ClusterState, replicas: ReplicaIds, nobody: Refusal) -> PartitionRegistration:
    """Return a partition as it starts: those that are active are in sync, and the first of them leads."""
    isr = tuple(replica for replica in replicas if replica in cluster.active)
    if not isr:
        raise nobody
    directories = tuple(cluster.default_directory(replica) for replica in replicas)
    return PartitionRegistration(replicas=replicas, isr=isr, leader=isr[0], directories=directories)


def _usable_brokers(cluster: ClusterState) -> list[UsableBroker]:
    return [
        UsableBroker(broker.id, broker.rack, broker.fenced)
        for broker in cluster.image.brokers.values()
        if (broker.fenced or not broker.in_controlled_shutdown) and broker.takes_replicas
    ]


def _nobody_active(number: int) -> Refusal:
    return invalid_assignment(
        f"All brokers specified in the manual partition assignment for partition {number} are fenced or in controlled "
        "shutdown."
    )


def _not_replicable(factor: int) -> Refusal:
    return Refusal(
        ErrorCode.INVALID_REPLICATION_FACTOR,
        f"Unable to replicate the partition {factor} time(s): All brokers are currently fenced or in controlled "
        "shutdown.",
    )
