"""A broker in this process that leads partitions with logs of ours: the product's server and answers, on loopback.

with WireLeader() as leader:
    leader.lead(TopicPartition("orders", 0), log, leader_epoch=1)
    ...  # clients connect to leader.bootstrap
"""

from collections.abc import Callable
from functools import partial
from threading import RLock
from types import TracebackType
from typing import Any, Self
from uuid import UUID, uuid4

from logstore import Log, TopicPartition
from logstore.log.state.waiters import Waiter
from replication.broker.partitions.hosted_partition import HostedPartition
from replication.broker.partitions.hosted_partitions import HostedPartitions
from replication.broker.requests.cluster.features import features_of
from replication.broker.requests.known_cluster import KnownCluster
from replication.broker.requests.reading_apis import reading_apis
from replication.metadata.image import ClusterImage
from replication.metadata.records import Endpoint, PartitionRecord, RegisterBrokerRecord, TopicRecord
from replication.protocol.addresses import Address
from replication.server.call import Call
from replication.server.connections.listener_settings import ListenerSettings
from replication.server.pending import Pending
from replication.server.served_api import ServedApi
from replication.server.server import Server

LISTENER = "PLAINTEXT"
BROKER = 1


class WireLeader:
    """The only broker of a cluster; whatever is done to its logs under `held` its clients see as one step."""

    def __init__(self, cluster_id: str = "wire") -> None:
        self.held = RLock()
        self.partitions = HostedPartitions()
        self.topic_ids: dict[str, UUID] = {}
        self._broker = BROKER
        self._image: ClusterImage | None = None
        self._server = Server([ListenerSettings(address=Address("127.0.0.1", 0), name=LISTENER)])
        self._cluster = KnownCluster(cluster_id, BROKER, self.image)

    @property
    def address(self) -> Address:
        return self._server.addresses[LISTENER]

    @property
    def bootstrap(self) -> str:
        return str(self.address)

    @property
    def broker(self) -> int:
        """As who it leads: another one after an election."""
        return self._broker

    @broker.setter
    def broker(self, broker: int) -> None:
        with self.held:
            self._broker, self._image = broker, None

    def __enter__(self) -> Self:
        apis = reading_apis(self.partitions, self._cluster)
        held = {key: ServedApi(api.versions, partial(self._answer, api.answer)) for key, api in apis.items()}
        self._server.start(held, lambda: features_of(self._cluster))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Be gone: nobody listens any more."""
        self._server.stop()

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

    def hang_up(self) -> None:
        """End all connections."""
        for connection in list(self._server._connections._open):
            connection.end()

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
                    replicas=(self._broker,),
                    isr=(self._broker,),
                    leader=self._broker,
                    leader_epoch=hosted.leader_epoch,
                    partition_epoch=0,
                )
            )
        return image

    def _answer(self, answer: Callable[[Any, Call], Any], request: Any, call: Call) -> Any:
        with self.held:
            found = answer(request, call)
        return Held(found, self.held) if hasattr(found, "attend") else found


class Held:
    """An answer that waits, and looks at the logs only where nobody changes them."""

    def __init__(self, pending: Pending, held: RLock) -> None:  # type: ignore[valid-type]  # a function in 3.11
        self._pending = pending
        self._held: Any = held

    @property
    def deadline(self) -> float:
        return self._pending.deadline

    def attend(self, waiter: Waiter) -> None:
        self._pending.attend(waiter)

    def leave(self, waiter: Waiter) -> None:
        self._pending.leave(waiter)

    def answer(self) -> Any | None:
        with self._held:
            return self._pending.answer()

    def expire(self) -> Any | None:
        with self._held:
            return self._pending.expire()
