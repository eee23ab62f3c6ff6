"""All partitions of which a broker has a copy."""

from collections.abc import Callable, ItemsView, Iterator, Mapping, MutableMapping, ValuesView
from typing import Any, TypeAlias, cast

from logstore import TopicPartition
from replication.cluster.broker.partitions.hosted_partition import HostedPartition

Pair: TypeAlias = tuple[str, int]
"""A topic and a number: a TopicPartition, or the plain tuple that equals it and is made in half the time."""


class HostedPartitions(MutableMapping[TopicPartition, HostedPartition]):
    """By topic and number. One thread changes them, any number read.

    Who waits for a partition that is taken away or replaced is woken.
    """

    def __init__(self, partitions: Mapping[TopicPartition, HostedPartition] | None = None) -> None:
        """Begin with some."""
        self._partitions: dict[TopicPartition, HostedPartition] = {}
        self.offline: set[TopicPartition] = set()
        """Those whose copies cannot be read at all: requests for them get KAFKA_STORAGE_ERROR."""
        self.find: Callable[[Pair], HostedPartition | None] = cast("Any", self._partitions.get)
        """Returns a partition, or None: each of each request is looked up."""
        self.update(partitions or {})

    def __getitem__(self, partition: TopicPartition) -> HostedPartition:
        return self._partitions[partition]

    def __setitem__(self, partition: TopicPartition, hosted: HostedPartition) -> None:
        before = self._partitions.get(partition)
        self._partitions[partition] = hosted
        if before is not None and before is not hosted:
            before.wake()

    def __delitem__(self, partition: TopicPartition) -> None:
        self._partitions.pop(partition).wake()

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(tuple(self._partitions))

    def __len__(self) -> int:
        return len(self._partitions)

    def items(self) -> ItemsView[TopicPartition, HostedPartition]:
        """Return those of this moment: whoever goes through them meets no change."""
        return self._partitions.copy().items()

    def values(self) -> ValuesView[HostedPartition]:
        """Return those of this moment."""
        return self._partitions.copy().values()
