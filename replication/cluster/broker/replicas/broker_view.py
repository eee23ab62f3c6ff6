"""The cluster's metadata, as one of its brokers looks at it."""

from collections.abc import Callable, Iterable
from typing import Final
from uuid import UUID

from logstore import TopicPartition
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.image_changes import PartitionId
from replication.records.metadata.nodes import BrokerRegistration
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY
from replication.wire.addresses import Address


class BrokerView:
    """What an image has of the broker's own replicas, and of the brokers that lead them."""

    def __init__(self, broker_id: int, broker_epoch: Callable[[], int], listener: str) -> None:
        """Look at an empty image.

        Leaders are found by their `listener`; `broker_epoch` is that of the registration of this start.
        """
        self.image = ClusterImage()
        """May be replaced at any time."""
        self._broker_id: Final = broker_id
        self._broker_epoch: Final = broker_epoch
        self._listener: Final = listener

    @property
    def knows_this_start(self) -> bool:
        """Whether it is no older than the broker's registration."""
        broker = self.broker(self._broker_id)
        return broker is not None and broker.epoch == self._broker_epoch()

    @property
    def has_directories(self) -> bool:
        """Whether the broker's directories are in it, so that replicas can be assigned to them."""
        broker = self.broker(self._broker_id)
        return broker is not None and bool(broker.directories)

    def directory_of(self, state: PartitionRegistration) -> UUID:
        """Return the id of the directory that the broker's replica lies in; of none where that is not said yet.

        It is not of what is older than the level of metadata.version from which on it is said, 3.7-IV2.
        """
        told = state.directory_of(self._broker_id)
        return UNASSIGNED_DIRECTORY if told == MIGRATING_DIRECTORY and self.has_directories else told

    def state(self, partition: PartitionId) -> PartitionRegistration | None:
        """Return a partition of which the broker has a replica; None for any other."""
        topic = self.image.topics.by_id.get(partition.topic_id)
        state = topic.partitions.get(partition.partition) if topic else None
        return state if state is not None and self._broker_id in state.replicas else None

    def has_replica(self, partition: PartitionId) -> bool:
        """Whether the broker has a replica of it."""
        return self.state(partition) is not None

    def name(self, partition: PartitionId) -> TopicPartition | None:
        """Return what a partition is called; None where its topic is unknown."""
        topic = self.image.topics.by_id.get(partition.topic_id)
        return None if topic is None else TopicPartition(topic.name, partition.partition)

    def is_known(self, partition: TopicPartition) -> bool:
        """Whether there is such a partition, on whichever brokers."""
        topic = self.image.topics.by_name.get(partition.topic)
        return topic is not None and partition.partition in topic.partitions

    def broker(self, broker_id: int) -> BrokerRegistration | None:
        """Return a broker's registration; None for an unknown one."""
        return self.image.brokers.get(broker_id)

    def address(self, broker_id: int) -> Address | None:
        """Return where a broker is followed; None where it cannot be."""
        broker = self.broker(broker_id)
        endpoint = None if broker is None or broker.fenced else broker.listeners.get(self._listener)
        return None if endpoint is None else Address(endpoint.host, endpoint.port)

    def followed_from(self, brokers: frozenset[int], partitions: Iterable[PartitionId]) -> frozenset[PartitionId]:
        """Return those of the broker's partitions that one of these brokers leads, if any of them is another broker."""
        if not brokers - {self._broker_id}:
            return frozenset()
        states = ((each, self.state(each)) for each in partitions)
        return frozenset(each for each, state in states if state is not None and state.leader in brokers)
