"""A registered broker of ours is a replica like any other: Kafka's leader counts it among those in sync."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from uuid import UUID

import pytest
from confluent_kafka import Producer

from logstore import Log, TopicPartition
from logstore.directory.log_directories import LogDirectories
from replication.cluster.broker.lifecycle.broker_agent import BrokerAgent
from replication.cluster.fetcher.fetch_observer import FetchObserver
from replication.cluster.fetcher.fetcher_manager import FetcherManager, LeaderAddress
from replication.cluster.fetcher.fetcher_settings import FetcherSettings, FetchIdentity
from replication.records.metadata.image import ClusterImage
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from tests.oracle.cluster import KafkaCluster
from tests.replication.cluster.broker.member import SECONDS, Agents, create_topic, format_root, run
from tests.replication.cluster.mirror.log_comparison import WrittenLog

LEADER, OURS = 1, 9


@pytest.fixture
def directories(tmp_path: Path) -> Iterator[LogDirectories]:
    format_root(tmp_path / "ours", OURS)
    with LogDirectories.open([tmp_path / "ours"], replicated=True) as directories:
        yield directories


def topic_id(cluster: KafkaCluster, member: BrokerAgent, topic: str, **configs: str) -> UUID:
    """Create a topic that Kafka's broker leads, and return its id once it is known here."""
    create_topic(cluster, topic, [LEADER, OURS], **configs)
    assert member.metadata.wait_for(lambda image: topic in image.topics.by_name, SECONDS)
    with member.metadata.image() as image:
        return image.topics.by_name[topic].id


def fetchers(broker_epoch: int, observer: FetchObserver | None = None) -> FetcherManager:
    """Make fetchers that ask as this broker, in this epoch."""
    return FetcherManager(settings=FetcherSettings(identity=FetchIdentity(OURS, broker_epoch)), observer=observer)


def follow(manager: FetcherManager, member: BrokerAgent, partition: TopicPartition, log: Log) -> None:
    """Follow the leader that the metadata names."""
    with member.metadata.image() as image:
        topic = image.topics.by_name[partition.topic]
        state = topic.partitions[partition.partition]
        endpoint = image.brokers[state.leader].listeners["PLAINTEXT"]
    leader = LeaderAddress(state.leader, Address(endpoint.host, endpoint.port))
    manager.follow(partition, log, leader, state.leader_epoch, topic.id)


def wait_for_isr(member: BrokerAgent, partition: TopicPartition, *isr: int) -> None:
    def is_so(image: ClusterImage) -> bool:
        return set(image.topics.by_name[partition.topic].partitions[partition.partition].isr) == set(isr)

    assert member.metadata.wait_for(is_so, SECONDS)


def produce(cluster: KafkaCluster, topic: str, values: list[bytes], seconds: int = SECONDS) -> set[str]:
    """Write with acks=all, and return what became of the records: "" or Kafka's name for an error."""
    outcomes: list[str] = []
    settings = {
        "bootstrap.servers": cluster.bootstrap(LEADER),
        "acks": "all",
        "compression.type": "lz4",
        "message.timeout.ms": seconds * 1_000,
        "log_level": 0,
    }
    producer = Producer(settings)
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: outcomes.append(error.name() if error else ""))
    assert producer.flush(2 * SECONDS) == 0
    return set(outcomes)


def test_it_is_in_the_isr_as_long_as_it_fetches_and_has_the_leaders_bytes(
    cluster: KafkaCluster, directories: LogDirectories
) -> None:
    orders = TopicPartition("orders", 0)
    values = [f"order {number}".encode() for number in range(1_000)]
    with closing(Agents(cluster)) as agents:
        member = agents(directories)
        run(member)
        log = directories.create(orders, topic_id=topic_id(cluster, member, "orders", min_insync_replicas="2"))
        with closing(fetchers(member.broker_epoch)) as manager:
            follow(manager, member, orders, log)
            assert produce(cluster, "orders", values) == {""}
            wait_for_isr(member, orders, LEADER, OURS)
            # Who falls silent while records come is left out, and two in sync are demanded.
            manager.forget(orders)
            assert "" not in produce(cluster, "orders", [b"nobody else has it"], seconds=1)
            wait_for_isr(member, orders, LEADER)
            # Who comes back catches up, and is counted again.
            follow(manager, member, orders, log)
            wait_for_isr(member, orders, LEADER, OURS)
            assert produce(cluster, "orders", values) == {""}
        assert log.log_end_offset > 2 * len(values)
        assert log.high_watermark > len(values)
        log.flush()
        assert WrittenLog.read(log.directory) == WrittenLog.read(cluster.log_dir(LEADER) / str(orders))
        member.leave(SECONDS)


def test_a_fetch_in_the_epoch_of_a_former_life_is_refused(cluster: KafkaCluster, directories: LogDirectories) -> None:
    """KIP-903: a replica that lost what it had must not be taken for the one that had it."""

    class Ear(FetchObserver):
        def __init__(self) -> None:
            self.errors: SimpleQueue[ErrorCode] = SimpleQueue()

        def erred(self, _: TopicPartition, error: ErrorCode) -> None:
            self.errors.put(error)

    ear, payments = Ear(), TopicPartition("payments", 0)
    with closing(Agents(cluster)) as agents:
        member = agents(directories)
        run(member)
        log = directories.create(payments, topic_id=topic_id(cluster, member, "payments"))
        with closing(fetchers(member.broker_epoch - 1, ear)) as manager:
            follow(manager, member, payments, log)
            transient = {
                ErrorCode.UNKNOWN_TOPIC_ID,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                ErrorCode.UNKNOWN_LEADER_EPOCH,
            }
            while (error := ear.errors.get(timeout=SECONDS)) in transient:
                pass
            assert error is ErrorCode.NOT_LEADER_OR_FOLLOWER
