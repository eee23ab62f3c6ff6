"""All partitions of which a broker has a copy."""

from collections.abc import Iterator, Mapping, MutableMapping
from uuid import UUID

from logstore import TopicPartition
from replication.broker.partitions.hosted_partition import HostedPartition


class HostedPartitions(MutableMapping[TopicPartition, HostedPartition]):
    """By topic and number; the topics also by id. One thread changes them, any number read.

    Who waits for a partition that is taken away or replaced is woken.
    """

    def __init__(self, partitions: Mapping[TopicPartition, HostedPartition] | None = None) -> None:
        """Begin with some."""
        self._partitions: dict[TopicPartition, HostedPartition] = {}
        self._names: dict[UUID, str] = {}
        self.offline: set[TopicPartition] = set()
        """Those whose copies cannot be read at all: whoever asks for them is told KAFKA_STORAGE_ERROR."""
        self.find = self._partitions.get
        """Returns a partition, or None: each of each request is looked up."""
        self.update(partitions or {})

    @property
    def names(self) -> Mapping[UUID, str]:
        """The names of the topics by their ids."""
        return self._names

    def __getitem__(self, partition: TopicPartition) -> HostedPartition:
        return self._partitions[partition]

    def __setitem__(self, partition: TopicPartition, hosted: HostedPartition) -> None:
        before = self._partitions.get(partition)
        self._partitions[partition] = hosted
        if hosted.topic_id is not None:
            self._names[hosted.topic_id] = partition.topic
        if before is not None and before is not hosted:
            self._forget(before)

    def __delitem__(self, partition: TopicPartition) -> None:
        self._forget(self._partitions.pop(partition))

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(tuple(self._partitions))

    def __len__(self) -> int:
        return len(self._partitions)

    def _forget(self, gone: HostedPartition) -> None:
        topic_id = gone.topic_id
        if topic_id is not None and all(each.topic_id != topic_id for each in tuple(self._partitions.values())):
            self._names.pop(topic_id, None)
        gone.wake()
