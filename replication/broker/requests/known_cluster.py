"""What a broker knows of its cluster as it answers."""

from collections.abc import Callable
from dataclasses import dataclass

from logstore import TopicPartition
from replication.metadata.image import ClusterImage
from replication.metadata.nodes import BrokerRegistration
from replication.metadata.partition import PartitionRegistration
from replication.protocol.messages.metadata import Broker


def _unknown() -> int:
    return -1


@dataclass(frozen=True, slots=True)
class KnownCluster:
    """The cluster's id, which of its brokers answers, and the metadata (Kafka: MetadataCache)."""

    id: str
    node_id: int
    """Of the broker that answers."""
    image: Callable[[], ClusterImage]
    """Returns what is known of the cluster by now."""
    offset: Callable[[], int] = _unknown
    """Returns the offset of the metadata that the image is of; -1 where that is not known."""

    def partition(self, partition: TopicPartition) -> PartitionRegistration | None:
        """Return a partition as the metadata has it; None where there is none."""
        topic = self.image().topics.by_name.get(partition.topic)
        return None if topic is None else topic.partitions.get(partition.partition)


def node_of(broker: BrokerRegistration | None, listener: str) -> Broker | None:
    """Return a broker as clients of a listener reach it; None where it does not have that listener, or is none."""
    endpoint = None if broker is None else broker.listeners.get(listener)
    if broker is None or endpoint is None:
        return None
    return Broker(broker.id, endpoint.host, endpoint.port, broker.rack)
