"""The only broker of a cluster, which leads partitions with logs of a test: what it answers is the product's."""

from collections.abc import Sequence
from threading import RLock
from uuid import UUID, uuid4

from logstore import Log, TopicPartition
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.reading_apis import reading_apis
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import Endpoint, PartitionRecord, RegisterBrokerRecord, TopicRecord
from replication.wire.addresses import Address
from replication.wire.server.served_api import ServedApis

LISTENER = "PLAINTEXT"
BROKER = 1


class LoneBroker:
    """Leads what it is told to; its metadata say that the followers have replicas too."""

    def __init__(self, cluster_id: str = "wire", *, broker: int = BROKER, followers: Sequence[int] = ()) -> None:
        self.held = RLock()
        """Whatever is done to its logs under this, its clients see as one step."""
        self.partitions = HostedPartitions()
        self.topic_ids: dict[str, UUID] = {}
        self.cluster = KnownCluster(cluster_id, broker, self.image)
        self._broker = broker
        self._followers = tuple(followers)
        self._image: ClusterImage | None = None

    @property
    def address(self) -> Address:
        """Where it says that it listens."""
        return Address("127.0.0.1", 9092)

    @property
    def broker(self) -> int:
        """As who it leads: another one after an election."""
        return self._broker

    @broker.setter
    def broker(self, broker: int) -> None:
        with self.held:
            self._broker, self._image = broker, None

    def lead(self, partition: TopicPartition, log: Log, leader_epoch: int) -> None:
        """Lead a partition with a log, from now on in this epoch."""
        with self.held:
            topic_id = self.topic_ids.setdefault(partition.topic, uuid4())
            self.partitions[partition] = HostedPartition(log, leader_epoch, topic_id=topic_id)
            self._image = None

    def recreate(self, topic: str) -> None:
        """Give a topic another id, as if it had been deleted and made again."""
        with self.held:
            self.topic_ids[topic] = uuid4()
            for partition, hosted in self.partitions.items():
                if partition.topic == topic:
                    hosted.topic_id = self.topic_ids[topic]
            self._image = None

    def forget_all(self) -> None:
        """Have no partition any more, and know of none."""
        with self.held:
            self.partitions.clear()
            self._image = None

    def apis(self) -> ServedApis:
        """What answers, without any session yet."""
        return reading_apis(self.partitions, self.cluster)

    def image(self) -> ClusterImage:
        """What the cluster knows of itself."""
        with self.held:
            if self._image is None:
                self._image = self._made()
            return self._image

    def _made(self) -> ClusterImage:
        host, port = self.address
        image = ClusterImage()
        image.replay(
            RegisterBrokerRecord(
                broker_id=self._broker,
                incarnation_id=UUID(int=0),
                broker_epoch=0,
                end_points=(Endpoint(name=LISTENER, host=host, port=port),),
                fenced=False,
            )
        )
        for topic in {partition.topic for partition in self.partitions}:
            image.replay(TopicRecord(name=topic, topic_id=self.topic_ids[topic]))
        for (topic, number), hosted in self.partitions.items():
            image.replay(
                PartitionRecord(
                    partition_id=number,
                    topic_id=self.topic_ids[topic],
                    replicas=(self._broker, *self._followers),
                    isr=(self._broker,),
                    leader=self._broker,
                    leader_epoch=hosted.leader_epoch,
                    partition_epoch=0,
                )
            )
        return image
