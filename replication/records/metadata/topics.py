"""The topics of a cluster and their partitions (Kafka: TopicsImage)."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from uuid import UUID

from logstore.files.partition_metadata import format_uuid
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.read_only import read_only
from replication.records.metadata.records import PartitionChangeRecord, PartitionRecord, TopicRecord


@dataclass(slots=True)
class Topic:
    """A topic: its name, its id, and its partitions by number."""

    name: str
    id: UUID
    partitions: dict[int, PartitionRegistration] = field(default_factory=dict)


@dataclass(slots=True)
class Topics:
    """All topics, by id and by name. All methods that change them raise LookupError and ValueError."""

    by_id: dict[UUID, Topic] = field(default_factory=dict)
    by_name: dict[str, Topic] = field(default_factory=dict)
    _directories: dict[tuple[UUID, ...], tuple[UUID, ...]] = field(default_factory=dict, compare=False, repr=False)
    """Few lists of directories stand for those of all partitions: each is kept once."""
    _own: set[UUID] = field(default_factory=set, compare=False, repr=False)
    """Topics that no frozen copy shares: they change in place."""
    _frozen: "Topics | None" = field(default=None, compare=False, repr=False)
    """The copy that was made last, as long as it says the same."""

    def __len__(self) -> int:
        return len(self.by_id)

    def __iter__(self) -> Iterator[Topic]:
        return iter(self.by_id.values())

    def topic(self, topic_id: UUID) -> Topic:
        """Return a topic. Raises LookupError where there is none."""
        topic = self.by_id.get(topic_id)
        if topic is None:
            raise LookupError(f"no topic has the id {format_uuid(topic_id)}")
        return topic

    def partition(self, topic_id: UUID, partition_id: int) -> PartitionRegistration:
        """Return a partition. Raises LookupError where there is none."""
        topic = self.topic(topic_id)
        state = topic.partitions.get(partition_id)
        if state is None:
            raise LookupError(f"topic {topic.name} has no partition {partition_id}")
        return state

    def partitions(self) -> Iterator[tuple[Topic, int, PartitionRegistration]]:
        """Walk over all partitions."""
        for topic in self:
            for partition_id, state in topic.partitions.items():
                yield topic, partition_id, state

    def add(self, record: TopicRecord) -> None:
        """Add a topic without partitions."""
        older = self.by_name.get(record.name) or self.by_id.get(record.topic_id)
        if older is not None:
            raise ValueError(f"there is already a topic {older.name} with the id {format_uuid(older.id)}")
        self._put(Topic(record.name, record.topic_id))

    def remove(self, topic_id: UUID) -> Topic:
        """Remove a topic with its partitions, and return it."""
        topic = self.topic(topic_id)
        self._frozen = None
        self._own.discard(topic_id)
        del self.by_id[topic_id]
        self.by_name.pop(topic.name, None)
        return topic

    def add_partition(self, record: PartitionRecord) -> None:
        """Add a partition, or put it into another state altogether."""
        state = self._compact(PartitionRegistration.of(record))
        self._changing(record.topic_id).partitions[record.partition_id] = state

    def change_partition(self, record: PartitionChangeRecord) -> None:
        """Change a partition."""
        changed = self.partition(record.topic_id, record.partition_id).changed(record)
        if record.directories is not None or record.replicas is not None:
            changed = self._compact(changed)
        self._changing(record.topic_id).partitions[record.partition_id] = changed

    def clear_elr(self, name: str) -> None:
        """Forget the eligible leader replicas of a topic, or of all where the name is empty."""
        if name and name not in self.by_name:
            raise LookupError(f"there is no topic {name}")
        for topic_id in (self.by_name[name].id,) if name else tuple(self.by_id):
            topic = self._changing(topic_id)
            topic.partitions.update((number, state.without_elr()) for number, state in topic.partitions.items())

    def frozen(self) -> "Topics":
        """Return a copy that nothing changes any more; it shares what is the same in both.

        Its cost is that of the topics' number, and of the partitions of those that have changed since the last one.
        """
        if self._frozen is None:
            for topic_id in self._own:
                topic = self.by_id[topic_id]
                topic.partitions = read_only(topic.partitions)
            self._own.clear()
            self._frozen = Topics(read_only(dict(self.by_id)), read_only(dict(self.by_name)))
        return self._frozen

    def _put(self, topic: Topic) -> Topic:
        self._frozen = None
        self._own.add(topic.id)
        self.by_id[topic.id] = self.by_name[topic.name] = topic
        return topic

    def _changing(self, topic_id: UUID) -> Topic:
        """Return a topic that may be changed: another with the same partitions, where a frozen copy has this one."""
        topic = self.topic(topic_id)
        return topic if topic_id in self._own else self._put(Topic(topic.name, topic_id, dict(topic.partitions)))

    def _compact(self, state: PartitionRegistration) -> PartitionRegistration:
        directories = self._directories.setdefault(state.directories, state.directories)
        return state if directories is state.directories else replace(state, directories=directories)
