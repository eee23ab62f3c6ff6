"""What changes in an image: which topics, partitions, brokers and configurations."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar
from uuid import UUID

from replication.records.metadata.configurations import ConfigResource, ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.nodes import changed_broker
from replication.records.metadata.records import (
    ClearElrRecord,
    ConfigRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from replication.records.metadata.topics import Topic

_Key = TypeVar("_Key")


class PartitionId(NamedTuple):
    """A partition, by its topic's id: another topic of the same name is another one."""

    topic_id: UUID
    partition: int


@dataclass(frozen=True, slots=True)
class ImageChanges:
    """What came, went, or is another than before (Kafka: MetadataDelta). It may be as before once more, after several.

    What went is to be found in the image before.
    """

    topics: frozenset[UUID] = frozenset()
    """Topics that were created or deleted; of those deleted, all partitions have changed too."""
    partitions: frozenset[PartitionId] = frozenset()
    brokers: frozenset[int] = frozenset()
    configurations: frozenset[ConfigResource] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.topics or self.partitions or self.brokers or self.configurations)

    @classmethod
    def union(cls, changes: Iterable["ImageChanges"]) -> "ImageChanges":
        """Return all of these changes as one."""
        each = tuple(changes)
        return cls(
            frozenset().union(*(one.topics for one in each)),
            frozenset().union(*(one.partitions for one in each)),
            frozenset().union(*(one.brokers for one in each)),
            frozenset().union(*(one.configurations for one in each)),
        )

    @classmethod
    def between(cls, before: ClusterImage, after: ClusterImage) -> "ImageChanges":
        """Return in what two images differ."""
        known = {PartitionId(topic.id, number): state for topic, number, state in before.topics.partitions()}
        now = {PartitionId(topic.id, number): state for topic, number, state in after.topics.partitions()}
        return cls(
            frozenset(before.topics.by_id.keys() ^ after.topics.by_id.keys()),
            _differing(known, now),
            _differing(before.brokers, after.brokers),
            _differing(before.configurations.by_resource, after.configurations.by_resource),
        )


class ChangeNotes:
    """Collects what records change, while they are replayed."""

    def __init__(self) -> None:
        """Begin without any."""
        self._topics: set[UUID] = set()
        self._partitions: set[PartitionId] = set()
        self._brokers: set[int] = set()
        self._configurations: set[ConfigResource] = set()

    def note(self, record: MetadataRecord, image: ClusterImage) -> None:
        """Note a record that is about to be replayed into this image."""
        match record:
            case PartitionChangeRecord() | PartitionRecord():
                self._partitions.add(PartitionId(record.topic_id, record.partition_id))
            case TopicRecord():
                self._topics.add(record.topic_id)
            case ConfigRecord():
                self._configurations.add(ConfigResource(record.resource_type, record.resource_name))
            case RemoveTopicRecord():
                self._note_removed(record.topic_id, image)
            case ClearElrRecord():
                self._partitions.update(_with_elr(record.topic_name, image))
            case _:
                broker_id = changed_broker(record)
                if broker_id is not None:
                    self._brokers.add(broker_id)

    def changes(self) -> ImageChanges:
        """Return all that was noted."""
        return ImageChanges(
            frozenset(self._topics),
            frozenset(self._partitions),
            frozenset(self._brokers),
            frozenset(self._configurations),
        )

    def _note_removed(self, topic_id: UUID, image: ClusterImage) -> None:
        topic = image.topics.by_id.get(topic_id)
        if topic is None:
            return
        self._topics.add(topic_id)
        self._partitions.update(PartitionId(topic_id, number) for number in topic.partitions)
        settings = ConfigResource(ConfigResourceType.TOPIC, topic.name)
        if settings in image.configurations.by_resource:
            self._configurations.add(settings)


def _with_elr(topic_name: str, image: ClusterImage) -> Iterator[PartitionId]:
    """Give the partitions of a topic, or of all, that have eligible leader replicas to forget."""
    named = image.topics.by_name.get(topic_name)
    topics: Iterable[Topic] = image.topics if not topic_name else [named] if named else []
    for topic in topics:
        for number, state in topic.partitions.items():
            if state != state.without_elr():
                yield PartitionId(topic.id, number)


def _differing(before: Mapping[_Key, object], after: Mapping[_Key, object]) -> frozenset[_Key]:
    return frozenset(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
