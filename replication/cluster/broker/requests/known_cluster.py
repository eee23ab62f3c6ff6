"""What a broker knows of its cluster as it answers."""

from collections.abc import Callable
from dataclasses import dataclass

from replication.records.metadata.image import ClusterImage
from replication.records.metadata.nodes import BrokerRegistration
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.messages.metadata import Broker


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

    def partition(self, partition: tuple[str, int]) -> PartitionRegistration | None:
        """Return a partition as the metadata has it; None where there is none."""
        name, number = partition
        topic = self.image().topics.by_name.get(name)
        return None if topic is None else topic.partitions.get(number)


def node_of(broker: BrokerRegistration | None, listener: str) -> Broker | None:
    """Return a broker as clients of a listener reach it; None where it does not have that listener, or is none."""
    endpoint = None if broker is None else broker.listeners.get(listener)
    if broker is None or endpoint is None:
        return None
    return Broker(broker.id, endpoint.host, endpoint.port, broker.rack)
