"""How soon a broker of ours serves what the metadata of a real cluster gives it to lead, from the record on."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka.admin import AdminClient
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_lead import told
from bench.joined_cluster import LEADER, create_partitions, joined_cluster, moment_when_unfenced
from bench.measuring import is_measuring
from bench.produced import SECONDS
from replication.cluster.node.broker_node import BrokerNode
from replication.cluster.node.broker_node_settings import BrokerNodeSettings
from replication.cluster.node.joining.joined_broker import JoinedBroker
from replication.cluster.node.metadata_feed import MetadataFeed
from replication.records.metadata.image_publisher import PublishedImage
from replication.wire.addresses import Address
from replication.wire.server.connections.listener_settings import ListenerSettings
from tests.oracle.cluster import CONTROLLER, KafkaCluster
from tests.replication.cluster.broker.member import format_root
from tests.replication.cluster.node.joining.mixed_cluster import OURS

ONE, MANY, FEW = 1, 1_000, 10
ROUNDS = 3
SESSION_MS = 9_000
LISTENS = BrokerNodeSettings(listener=ListenerSettings(address=Address("127.0.0.1", 0)), coordinates_groups=False)


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """One of Kafka's brokers; ours is in this process."""
    with joined_cluster(
        "serving", is_measured=is_measuring(request.config), session_ms=SESSION_MS, disk=2 << 30, kafkas=1, ours=()
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def broker(cluster: KafkaCluster) -> Iterator[BrokerNode]:
    root = cluster.directory / "ours"
    format_root(root, OURS)
    controllers = [Address("127.0.0.1", cluster.ports[CONTROLLER])]
    with JoinedBroker.open([root], controllers, LISTENS) as joined:
        yield joined.node


class Given:
    """What a broker is told of a topic, and when it leads all of it."""

    def __init__(self, broker: BrokerNode, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._broker = broker
        self._topic = topic
        self._monkeypatch = monkeypatch

    def seconds_to_serve(self, count: int, happens: Callable[[], object]) -> float:
        """Make something happen by which the broker leads so many partitions.

        Returns the time from the first metadata by which it leads any of them until it leads all of them.
        """
        replayed: list[float] = []
        put = MetadataFeed.put

        def noted(feed: MetadataFeed, published: PublishedImage) -> None:
            if self._leads_by(published):
                replayed.append(time.perf_counter())
            put(feed, published)

        with self._monkeypatch.context() as patched, ThreadPoolExecutor(1) as beside:
            patched.setattr(MetadataFeed, "put", noted)
            happening = beside.submit(happens)  # which may end later than it leads
            assert self._broker.wait_until(lambda: self._led() == count, SECONDS)
            serves = time.perf_counter()
            happening.result()
        return serves - replayed[0]

    def _leads_by(self, published: PublishedImage) -> bool:
        found = published.image.topics.by_name.get(self._topic)
        return found is not None and any(each.leader == OURS for each in found.partitions.values())

    def _led(self) -> int:
        hosted = self._broker.replicas.hosted
        return sum(name.topic == self._topic and each.led is not None for name, each in list(hosted.items()))


@pytest.mark.parametrize("most", [ONE, MANY])
def bench_new_partitions(
    benchmark: BenchmarkFixture,
    cluster: KafkaCluster,
    broker: BrokerNode,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
) -> None:
    """Partitions that are made, which this broker leads from the beginning."""
    count = most if benchmark.enabled else min(most, FEW)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap(LEADER)})
    taken: list[float] = []

    def make() -> None:
        topic = f"new-{count}-{len(taken)}"
        given = Given(broker, topic, monkeypatch)
        taken.append(given.seconds_to_serve(count, lambda: create_partitions(admin, topic, [OURS], count)))

    benchmark.pedantic(make, rounds=ROUNDS if benchmark.enabled else 1)
    told(benchmark, {"s": sorted(taken)[len(taken) // 2]})


@pytest.mark.parametrize("most", [ONE, MANY])
def bench_elected(
    benchmark: BenchmarkFixture,
    cluster: KafkaCluster,
    broker: BrokerNode,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
) -> None:
    """Partitions that it has followed, whose leader stops in order."""
    count = most if benchmark.enabled else min(most, FEW)
    topic = f"elected-{count}"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap(LEADER)})
    create_partitions(admin, topic, [LEADER, OURS], count)
    given = Given(broker, topic, monkeypatch)
    assert broker.wait_until(lambda: is_in_sync(broker, topic, count), SECONDS)
    taken: list[float] = []
    benchmark.pedantic(lambda: taken.append(given.seconds_to_serve(count, lambda: cluster.stop(LEADER))), rounds=1)
    cluster.start(LEADER)
    moment_when_unfenced(cluster, LEADER)
    told(benchmark, {"s": taken[0]})


def is_in_sync(broker: BrokerNode, topic: str, count: int) -> bool:
    """Whether our broker is in the ISR of all partitions."""
    found = broker.image.topics.by_name.get(topic)
    return found is not None and sum(OURS in each.isr for each in found.partitions.values()) == count
