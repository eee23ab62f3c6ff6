"""A broker without sockets: partitions in a directory of the test, and a cluster that knows them."""

from pathlib import Path
from uuid import UUID

from logstore import Log, LogConfig, Record, TopicPartition
from logstore.log.readable_log import ReadableLog
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import (
    Endpoint,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from replication.wire.server.call import Call, Caller

BROKER = 1
TOPIC = "orders"
TOPIC_ID = UUID(int=7)
ORDERS = TopicPartition(TOPIC, 0)
ELSEWHERE = TopicPartition(TOPIC, 1)
"""A partition of which this broker has no copy."""
UNKNOWN = TopicPartition("unknown", 0)
EPOCH = 5


def call(version: int) -> Call:
    """A request of an anonymous client in a version."""
    return Call(version, Caller("127.0.0.1"), "test")


def broker_record(broker_id: int, *, fenced: bool = False, host: str | None = None, **listeners: int) -> MetadataRecord:
    """A broker with a port for each of its listeners."""
    ends = tuple(
        Endpoint(name=name, host=host or f"broker-{broker_id}", port=port, security_protocol=0)
        for name, port in (listeners or {"PLAINTEXT": 9090 + broker_id}).items()
    )
    return RegisterBrokerRecord(
        broker_id=broker_id,
        broker_epoch=broker_id,
        incarnation_id=UUID(int=broker_id),
        end_points=ends,
        fenced=fenced,
        rack=f"rack-{broker_id}",
    )


def partition_record(
    index: int, leader: int, *, topic_id: UUID = TOPIC_ID, leader_epoch: int = EPOCH
) -> MetadataRecord:
    """A partition of brokers 1 and 2."""
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=(1, 2),
        isr=(1, 2),
        leader=leader,
        leader_epoch=leader_epoch,
        partition_epoch=0,
    )


def change_leader(hosted: HostedPartition, leader_epoch: int, *, is_leader: bool) -> None:
    """Have it led in another epoch, by this broker or by another one."""
    hosted.leader_epoch = leader_epoch
    hosted.is_leader = is_leader
    hosted.wake()


class SmallBroker:
    """Leads `orders-0` in epoch 5, and knows that broker 2 leads `orders-1`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.partitions = HostedPartitions()
        self.image = ClusterImage()
        self.tell(
            FeatureLevelRecord(name="metadata.version", feature_level=29),
            broker_record(1),
            broker_record(2),
            TopicRecord(name=TOPIC, topic_id=TOPIC_ID),
            partition_record(0, 1),
            partition_record(1, 2),
        )
        self.cluster = KnownCluster("a-cluster", BROKER, lambda: self.image)
        self.lookup = PartitionLookup(self.partitions, self.cluster)
        self.log = self.open(ORDERS)

    def tell(self, *records: MetadataRecord) -> None:
        """Let the cluster know more."""
        self.image.replay_all(records)

    def open(self, partition: TopicPartition, *, topic_id: UUID = TOPIC_ID) -> Log:
        """Lead one more partition, with an empty log."""
        log = Log.open(
            self._directory / f"{partition.topic}-{partition.partition}",
            LogConfig(retention_ms=-1, segment_ms=2**62),
            replicated=True,
        )
        self.host(partition, log, topic_id=topic_id)
        return log

    def host(self, partition: TopicPartition, log: ReadableLog, *, topic_id: UUID = TOPIC_ID) -> HostedPartition:
        """Lead one more partition."""
        hosted = self.partitions[partition] = HostedPartition(log, EPOCH, topic_id=topic_id, root=str(self._directory))
        return hosted

    def append(self, *values: bytes, leader_epoch: int = EPOCH, commit: bool = True, timestamp: int = 1_000) -> None:
        """Append a batch to `orders-0`."""
        records = [Record.of(value, timestamp=timestamp + number) for number, value in enumerate(values)]
        self.log.append(records, leader_epoch=leader_epoch)
        if commit:
            self.log.advance_high_watermark(self.log.log_end_offset)

    def close(self) -> None:
        """Close all logs."""
        for hosted in self.partitions.values():
            if isinstance(hosted.log, Log):
                hosted.log.abandon()
