"""Real clients read what real brokers left: the same records as the copies hold, by each client, committed or all."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonPartition

from logstore import Isolation, TopicPartition
from replication.serving.cluster_server import ClusterServer
from replication.serving.frozen_cluster import FrozenCluster
from tests.data.replicas import LABELS, replicas
from tests.oracle.release import KafkaRelease
from tests.replication.serving.clients import READERS, SECONDS, Seen
from tests.replication.serving.java_tools import as_printed, console_consumer, run_tool

ISOLATION = {True: Isolation.READ_COMMITTED, False: Isolation.HIGH_WATERMARK}
LEVELS = pytest.mark.parametrize("committed", [True, False], ids=["committed", "all"])
EARLIEST, LATEST = -2, -1


class Served:
    """A label's replicas, on the network."""

    def __init__(self, cluster: FrozenCluster, server: ClusterServer) -> None:
        self.cluster = cluster
        self.bootstrap = server.bootstrap
        self.hosted = [cluster.hosted[broker.node_id] for broker in cluster.brokers]

    @property
    def partitions(self) -> list[TopicPartition]:
        return sorted(key for key in self.hosted[0] if not key.topic.startswith("__"))

    def truth(self, partition: TopicPartition, committed: bool) -> list[Seen]:
        (log,) = [held[partition].log for held in self.hosted if partition in held and held[partition].is_leader]
        return [
            Seen(each.offset, each.timestamp, each.key, each.value, tuple(each.headers))
            for each in log.records(isolation=ISOLATION[committed])
        ]


@pytest.fixture(scope="module", params=LABELS)
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    brokers: list[Path] = sorted(replicas(request.param).iterdir())
    with FrozenCluster.open(brokers) as cluster, ClusterServer(cluster) as server:
        yield Served(cluster, server)


@pytest.fixture(scope="module")
def diverged() -> Iterator[Served]:
    brokers = sorted(replicas("diverged").iterdir())
    with FrozenCluster.open(brokers) as cluster, ClusterServer(cluster) as server:
        yield Served(cluster, server)


@LEVELS
@pytest.mark.parametrize("client", READERS)
def test_each_client_reads_what_the_leaders_copies_hold(served: Served, client: str, committed: bool) -> None:
    seen = READERS[client](served.bootstrap, served.partitions, committed)
    assert served.partitions
    for partition in served.partitions:
        assert seen[partition] == served.truth(partition, committed), partition


@pytest.mark.parametrize("client", ["confluent-kafka", "kafka-python", "aiokafka"])
def test_subscribers_in_a_group_read_all_partitions(diverged: Served, client: str) -> None:
    topic = "orders"
    wanted = sum(len(diverged.truth(each, committed=False)) for each in diverged.partitions if each.topic == topic)
    assert wanted > 0
    assert SUBSCRIBERS[client](diverged.bootstrap, topic, wanted) == wanted


def test_the_console_consumer_prints_what_a_copy_holds(diverged: Served, release: KafkaRelease) -> None:
    for partition in (TopicPartition("codecs", 0), TopicPartition("txns", 0)):
        seen = console_consumer(release, diverged.bootstrap, partition, committed=True)
        assert seen == [as_printed(each) for each in diverged.truth(partition, committed=True)]


def test_kafka_get_offsets_prints_where_the_logs_end(diverged: Served, release: KafkaRelease) -> None:
    printed = run_tool(release, "kafka-get-offsets", "--bootstrap-server", diverged.bootstrap, "--time", LATEST)
    ends = {line.rpartition(":")[0].replace(":", "-"): int(line.rpartition(":")[2]) for line in printed.splitlines()}
    for partition in diverged.partitions:
        (log,) = [each[partition].log for each in diverged.hosted if partition in each and each[partition].is_leader]
        assert ends[str(partition)] == log.log_end_offset


def test_kafka_consumer_perf_test_reads_a_topic(diverged: Served, release: KafkaRelease) -> None:
    wanted = len(diverged.truth(TopicPartition("codecs", 0), committed=False))
    printed = run_tool(
        release,
        "kafka-consumer-perf-test",
        *("--bootstrap-server", diverged.bootstrap, "--topic", "codecs", "--num-records", wanted),
    )
    assert int(printed.splitlines()[1].split(",")[4]) == wanted


def test_kafka_topics_describes_leaders_and_replicas(diverged: Served, release: KafkaRelease) -> None:
    printed = run_tool(release, "kafka-topics", "--bootstrap-server", diverged.bootstrap, "--describe")
    for topic, number, each in diverged.cluster.topics.topics.partitions():
        line = next(line for line in printed.splitlines() if f"Topic: {topic.name}\tPartition: {number}\t" in line)
        assert f"Leader: {each.leader}" in line
        assert f"Replicas: {','.join(map(str, each.replicas))}" in line


def test_kafka_log_dirs_describes_the_partitions_of_brokers(diverged: Served, release: KafkaRelease) -> None:
    printed = run_tool(release, "kafka-log-dirs", "--bootstrap-server", diverged.bootstrap, "--describe")
    for held in diverged.hosted:
        for partition, hosted in held.items():
            assert f'"partition":"{partition}","size":{hosted.log.size}' in printed


def test_kafka_configs_describes_topics(diverged: Served, release: KafkaRelease) -> None:
    printed = run_tool(
        release,
        "kafka-configs",
        *("--bootstrap-server", diverged.bootstrap, "--describe", "--all", "--entity-type", "topics"),
        *("--entity-name", "codecs"),
    )
    assert "retention.ms=" in printed


def test_kafka_broker_api_versions_lists_what_is_answered(diverged: Served, release: KafkaRelease) -> None:
    printed = run_tool(release, "kafka-broker-api-versions", "--bootstrap-server", diverged.bootstrap)
    assert "Fetch(1): 4 to 18" in printed
    assert "CreateTopics(19): UNSUPPORTED" in printed


def test_kafka_consumer_groups_shows_what_a_group_has_committed(diverged: Served, release: KafkaRelease) -> None:
    consumer = Consumer({"bootstrap.servers": diverged.bootstrap, "group.id": "told", "auto.offset.reset": "earliest"})
    consumer.subscribe(["codecs"])
    message = consumer.poll(SECONDS)
    assert message is not None
    assert message.error() is None
    consumer.commit(message, asynchronous=False)
    consumer.close()
    printed = run_tool(
        release, "kafka-consumer-groups", "--bootstrap-server", diverged.bootstrap, "--describe", "--group", "told"
    )
    assert f"codecs 0 {message.offset() + 1}" in " ".join(printed.split())


def test_seeking_by_time_finds_the_first_record_that_is_not_earlier(diverged: Served) -> None:
    partition = TopicPartition("codecs", 0)
    records = diverged.truth(partition, committed=False)
    consumer = KafkaConsumer(bootstrap_servers=diverged.bootstrap)
    try:
        asked = PythonPartition(*partition)
        for wanted in (records[0].timestamp, records[len(records) // 2].timestamp, records[-1].timestamp + 1):
            found = consumer.offsets_for_times({asked: wanted})[asked]
            truth = next((each.offset for each in records if each.timestamp >= wanted), None)
            assert (None if found is None else found.offset) == truth
    finally:
        consumer.close()


# --- subscribers


def _confluent(bootstrap: str, topic: str, wanted: int) -> int:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "confluent", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    read = 0
    try:
        while read < wanted:
            message = consumer.poll(SECONDS)
            assert message is not None
            assert message.error() is None
            read += 1
    finally:
        consumer.close()
    return read


def _python(bootstrap: str, topic: str, wanted: int) -> int:
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id="python",
        auto_offset_reset="earliest",
        consumer_timeout_ms=SECONDS * 1_000,
    )
    try:
        return sum(1 for _, _ in zip(range(wanted), consumer, strict=False))
    finally:
        consumer.close()


def _aio(bootstrap: str, topic: str, wanted: int) -> int:
    async def read() -> int:
        consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id="aio", auto_offset_reset="earliest")
        await consumer.start()
        try:
            for _ in range(wanted):
                await asyncio.wait_for(consumer.getone(), SECONDS)
            return wanted
        finally:
            await consumer.stop()

    return asyncio.run(read())


SUBSCRIBERS = {"confluent-kafka": _confluent, "kafka-python": _python, "aiokafka": _aio}
