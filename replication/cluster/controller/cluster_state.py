"""What a controller decides from: the cluster's image, and what follows from it."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from uuid import UUID

from replication.cluster.controller.partition_index import PartitionIndex, PartitionKey
from replication.cluster.controller.topic_names import TopicNames
from replication.records.leadership.broker_event import Terms
from replication.records.leadership.rules import Rules, rules_of
from replication.records.leadership.topic_settings import TopicSettings
from replication.records.leadership.working_directory import has_working_copy
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.nodes import BrokerRegistration, changed_broker
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import (
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    ClearElrRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)
from replication.records.metadata.topics import Topic


class ClusterState:
    """The image, changed only by replaying records, with an index of its partitions and the rules it plays by."""

    def __init__(self, defaults: Mapping[str, str] = MappingProxyType({}), *, as_kafka: bool = False) -> None:
        """`defaults` are the controller's own settings, for topics and brokers that have none.

        For `as_kafka` see `rules_of`.
        """
        self.image: ClusterImage = ClusterImage()
        self.index: PartitionIndex = PartitionIndex()
        self._as_kafka = as_kafka
        self.rules: Rules = self._prescribed()
        self.active: set[int] = set()
        """Brokers that are neither fenced nor shutting down."""
        self.topic_names: TopicNames = TopicNames()
        self.registration_offsets: dict[int, int] = {}
        """Where each broker's last registration stands in the log."""
        self.own_settings: Mapping[str, str] = dict(defaults)
        """The controller's, for topics and brokers that have none."""

    # Changes

    def replay(self, record: MetadataRecord, offset: int) -> None:
        """Change the state as the record at `offset` says. Raises InvalidReplayError as the image does."""
        match record:
            case PartitionChangeRecord() | PartitionRecord():
                self._replay_partition(record)
            case RemoveTopicRecord():
                topic = self.image.topics.by_id.get(record.topic_id)
                self._replay_all_partitions(record, [topic] if topic else [])
                if topic:
                    self.topic_names.discard(topic.name)
            case ClearElrRecord():
                self._replay_all_partitions(record, self._cleared(record))
            case _:
                self.image.replay(record)
                self._after(record, offset)

    def _replay_partition(self, record: PartitionChangeRecord | PartitionRecord) -> None:
        topics = self.image.topics.by_id
        known = topics.get(record.topic_id)
        before = known.partitions.get(record.partition_id) if known else None
        self.image.replay(record)
        after = topics[record.topic_id].partitions[record.partition_id]
        self.index.update(PartitionKey(record.topic_id, record.partition_id), before, after)

    def _replay_all_partitions(self, record: MetadataRecord, topics: Iterable[Topic]) -> None:
        before = {topic.id: dict(topic.partitions) for topic in topics}
        self.image.replay(record)
        for topic_id, partitions in before.items():
            left = self.image.topics.by_id.get(topic_id)
            for partition_id, state in partitions.items():
                after = left.partitions[partition_id] if left else None
                self.index.update(PartitionKey(topic_id, partition_id), state, after)

    def _after(self, record: MetadataRecord, offset: int) -> None:
        match record:
            case TopicRecord():
                self.topic_names.add(record.name)
                return
            case FeatureLevelRecord():
                self.rules = self._prescribed()
                return
            case RegisterBrokerRecord():
                self.registration_offsets[record.broker_id] = offset
            case UnregisterBrokerRecord():
                self.registration_offsets.pop(record.broker_id, None)
        broker_id = changed_broker(record)
        if broker_id is not None:
            broker = self.image.brokers.get(broker_id)
            (self.active.add if broker and broker.is_active else self.active.discard)(broker_id)

    def _prescribed(self) -> Rules:
        return rules_of(self.image.metadata_version, self.image.features, as_kafka=self._as_kafka)

    def _cleared(self, record: ClearElrRecord) -> list[Topic]:
        """Return the topics that a record is about: the one that it names, or all, where it names none."""
        if not record.topic_name:
            return list(self.image.topics)
        named = self.topic_named(record.topic_name)
        return [named] if named else []

    # Questions

    def topic_named(self, name: str) -> Topic | None:
        """Return the topic of a name."""
        return self.image.topics.by_name.get(name)

    def partition(self, key: PartitionKey) -> PartitionRegistration:
        """Return a partition. Raises LookupError where there is none."""
        return self.image.topics.partition(*key)

    def unclean_allowed(self, topic: Topic) -> bool:
        """Whether a replica out of sync may lead where no other is left."""
        return self._settings.unclean_allowed(topic.name)

    def terms(self, topic: Topic) -> Terms:
        """Return under which terms a topic's leaders are elected, without anybody asking."""
        return self._settings.terms(topic, self.rules)

    def min_isr(self, topic: Topic) -> int:
        """How many replicas must be in sync for acks=all, at most as many as there are."""
        return self._settings.min_isr(topic)

    def setting(self, topic: Topic, name: str) -> str:
        """Return what a topic's setting is: its own, the cluster's, the controller's, or Kafka's."""
        return self._settings.value(topic.name, name)

    @property
    def _settings(self) -> TopicSettings:
        return TopicSettings(self.image.configurations, self.own_settings)

    def may_lead(
        self, partition: PartitionRegistration, accepts: Callable[[int], bool] | None = None
    ) -> Callable[[int], bool]:
        """Return what says of a broker whether it may lead: it is active, or accepted, and has the partition.

        Who was reassigned away may still be the last known leader, and must not lead what it has deleted.
        """
        accepted = accepts or self.active.__contains__
        brokers = self.image.brokers
        return lambda broker_id: (
            accepted(broker_id) and has_working_copy(partition, broker_id, brokers[broker_id].directories)
        )

    def default_directory(self, broker_id: int) -> UUID:
        """Return where a new replica lies: the broker's directory, or UNASSIGNED where the broker has to choose."""
        broker: BrokerRegistration | None = self.image.brokers.get(broker_id)
        if broker is None:
            return UNASSIGNED_DIRECTORY
        if not broker.directories:
            return MIGRATING_DIRECTORY
        return broker.directories[0] if len(broker.directories) == 1 else UNASSIGNED_DIRECTORY
