"""A broker of ours in a real cluster: its controller gives roles, and its broker follows ours or leads."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from logstore import Log
from logstore import TopicPartition as Partition
from logstore.directory.log_directories import LogDirectories
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.node import BrokerNode, BrokerNodeSettings, NetworkLink
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.addresses import Address
from replication.wire.server.connections.listener_settings import ListenerSettings
from tests.oracle.cluster import CLUSTER_ID, KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.broker.member import (
    HEARTBEAT_MS,
    SECONDS,
    SESSION_MS,
    controllers,
    create_topic,
    format_root,
)

OURS, THEIRS = 9, 1
ADDRESS = Address("127.0.0.1", 0)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[KafkaCluster]:
    directory = tmp_path_factory.mktemp("cluster")
    with KafkaCluster(directory, release, controller_settings={"broker.session.timeout.ms": SESSION_MS}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def node(cluster: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerNode]:
    root = tmp_path_factory.mktemp("node") / "ours"
    format_root(root, OURS, CLUSTER_ID)
    with LogDirectories.open([root], periodic=True, replicated=True) as directories:
        link = NetworkLink(controllers(cluster), BrokerIdentity.of(directories))
        settings = BrokerNodeSettings(
            listener=ListenerSettings(address=ADDRESS),
            heartbeat_interval_ms=HEARTBEAT_MS,
            replica_lag_time_max_ms=3_000,
        )
        with closing(BrokerNode(link, directories, settings)) as node:
            yield node


def partition(node: BrokerNode, topic: str) -> PartitionRegistration | None:
    known = node._thread.image.topics.by_name.get(topic) if node._thread else None
    return None if known is None else known.partitions[0]


def produce(node: BrokerNode, topic: str, count: int) -> None:
    """Return once all in sync have them, each once: the ids of producers are the real controller's."""
    settings = {"bootstrap.servers": str(node.address), "acks": "all", "enable.idempotence": True}
    producer = Producer(settings)
    failures = []

    def told(error: object, _: object) -> None:
        failures.extend([error] if error else [])

    for number in range(count):
        producer.produce(topic, f"order {number}", on_delivery=told)
    assert producer.flush(SECONDS) == 0
    assert failures == []


def held(node: BrokerNode, topic: str) -> Log:
    log = node.replicas.hosted[Partition(topic, 0)].log
    assert isinstance(log, Log)
    return log


@pytest.mark.parametrize("leader", [OURS, THEIRS], ids=["ours leads", "theirs leads"])
def test_what_is_produced_is_on_both_sides(cluster: KafkaCluster, node: BrokerNode, leader: int) -> None:
    topic = f"led-by-{leader}"
    create_topic(cluster, topic, [leader, OURS + THEIRS - leader])
    produce(node, topic, 50)
    state = partition(node, topic)
    assert state is not None
    assert (state.leader, set(state.isr)) == (leader, {OURS, THEIRS})
    assert held(node, topic).log_end_offset == 50
    consumer = Consumer({"bootstrap.servers": str(node.address), "group.id": "none"})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        assert len(consumer.consume(50, SECONDS)) == 50
    finally:
        consumer.close()


def test_a_real_controller_changes_isrs_and_leaders_as_brokers_of_ours_ask(
    cluster: KafkaCluster, node: BrokerNode
) -> None:
    topic = "changing"
    create_topic(cluster, topic, [THEIRS, OURS])
    produce(node, topic, 10)
    cluster.kill(THEIRS)
    assert node.wait_until(lambda: (state := partition(node, topic)) is not None and state.leader == OURS, SECONDS)
    produce(node, topic, 10)
    cluster.start(THEIRS)
    # It joins by an AlterPartition of ours.
    assert node.wait_until(lambda: (state := partition(node, topic)) is not None and len(state.isr) == 2, SECONDS)
    assert held(node, topic).log_end_offset == 20


def test_what_administrators_ask_of_ours_is_done_by_the_real_controller(node: BrokerNode) -> None:
    admin = AdminClient({"bootstrap.servers": str(node.address)})
    admin.create_topics([NewTopic("asked", 2, 1)])["asked"].result(SECONDS)
    assert node.wait_until(lambda: partition(node, "asked") is not None, SECONDS)
    admin.delete_topics(["asked"])["asked"].result(SECONDS)
    assert node.wait_until(lambda: partition(node, "asked") is None, SECONDS)
