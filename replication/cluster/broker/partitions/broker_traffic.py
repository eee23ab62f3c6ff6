"""What goes into the partitions of a broker and out of them, since it started."""

from collections import defaultdict
from collections.abc import Mapping
from threading import Lock
from typing import Final, NamedTuple

from logstore import TopicPartition
from replication.cluster.broker.partitions.partition_traffic import PartitionTraffic


class TrafficTotals(NamedTuple):
    """Of a topic, or of all; see `PartitionTraffic`."""

    messages_in: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    failed_appends: int = 0
    replication_bytes_in: int = 0
    replication_bytes_out: int = 0

    def plus(self, traffic: PartitionTraffic) -> "TrafficTotals":
        """Return these with a partition's."""
        return TrafficTotals(*(known + getattr(traffic, name) for name, known in self._asdict().items()))


class BrokerTraffic:
    """By partition. What is gone with a partition that the broker no longer has still counts in the sum of all."""

    def __init__(self) -> None:
        """Begin with none."""
        self._partitions: Final[dict[TopicPartition, PartitionTraffic]] = {}
        self._gone = TrafficTotals()
        self._lock: Final = Lock()

    def of(self, partition: TopicPartition) -> PartitionTraffic:
        """Return what counts for a partition, the same as long as the broker has it. Any thread may ask."""
        known = self._partitions.get(partition)
        if known is None:
            with self._lock:
                known = self._partitions.setdefault(partition, PartitionTraffic())
        return known

    def forget(self, partition: TopicPartition) -> None:
        """Keep of a partition no more than its part in the sum."""
        with self._lock:
            gone = self._partitions.pop(partition, None)
            if gone is not None:
                self._gone = self._gone.plus(gone)

    def totals(self) -> tuple[TrafficTotals, Mapping[str, TrafficTotals]]:
        """Return the sum of all, and that of each topic that the broker has partitions of."""
        topics: defaultdict[str, TrafficTotals] = defaultdict(TrafficTotals)
        with self._lock:
            total = self._gone
            for partition, traffic in self._partitions.items():
                total = total.plus(traffic)
                topics[partition.topic] = topics[partition.topic].plus(traffic)
        return total, topics
