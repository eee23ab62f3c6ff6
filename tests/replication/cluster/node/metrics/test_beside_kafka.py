"""The metrics of `epochlog broker` beside those of a real broker in the same roles: names, labels, values, lines."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, TopicPartition

from tests.oracle.cluster import CLUSTER_ID, KafkaCluster
from tests.oracle.jmx import prometheus_samples
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import epochlog
from tests.replication.cli.settings.joining import SECONDS, joined, server_properties
from tests.replication.cluster.broker.member import controllers, create_topic
from tests.replication.cluster.node.metrics.scraping import Scrape, of, scraped
from tests.replication.waiting import wait_until

OURS, THEIRS = 9, 1
LED_BY = {"ours": (OURS, THEIRS), "theirs": (THEIRS, OURS)}
"""Topics, and their replicas."""
RECORDS = 200
MANAGER, TOPICS = "kafka_server_replicamanager", "kafka_server_brokertopicmetrics"
QUORUM = "kafka_server_raft_metrics"


class Scene(NamedTuple):
    """What two brokers tell at the end of it, and what ours has said."""

    ours: Scrape
    theirs: Scrape
    while_theirs_stood_still: Scrape
    lines: list[dict[str, Any]]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Scene]:
    """Each leads a topic that the other follows; both are produced to and read; then each stands still for a while."""
    directory = tmp_path_factory.mktemp("scene")
    # So long a session that leaders notice first who stands still.
    with KafkaCluster(directory, release, controller_settings={"broker.session.timeout.ms": 600_000}) as cluster:
        # Or Kafka's broker would have the topics of coordinators, and ours would not.
        alone = {"start_without_coordinators": "true"}
        config = server_properties(directory, controllers(cluster), metrics_listener=0, **alone)
        assert epochlog("format", "--config", config, "--cluster-id", CLUSTER_ID).status == 0
        log = directory / "ours.log"
        with log.open("w") as errors, joined(config, errors) as (process, told):
            yield played(cluster, release, process, told, log)
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0


def played(
    cluster: KafkaCluster, release: KafkaRelease, process: subprocess.Popen[str], told: dict[str, Any], log: Path
) -> Scene:
    address, at = told["metrics"], {"ours": told["bootstrap"], "theirs": cluster.bootstrap(THEIRS)}
    for topic, replicas in LED_BY.items():
        configs = {"min.insync.replicas": "2", "message.timestamp.before.max.ms": "3600000"}
        create_topic(cluster, topic, list(replicas), **configs)
        wait_until(lambda of=topic: isr(cluster, of) == {OURS, THEIRS})
        assert produce(at[topic], topic) == []
        consume(at[topic], topic)
        assert produce(at[topic], topic, count=1, timestamp=1) == [KafkaError.INVALID_TIMESTAMP]
    with standing_still(cluster.pid(THEIRS)):
        produce(at["ours"], "ours", count=1, acks=1)
        wait_until(lambda: scraped(address).value(f"{MANAGER}_underreplicatedpartitions") == 1)
        while_still = scraped(address)
    wait_until(lambda: isr(cluster, "ours") == {OURS, THEIRS})
    with standing_still(process.pid):
        produce(at["theirs"], "theirs", count=1, acks=1)
        wait_until(lambda: isr(cluster, "theirs") == {THEIRS})
    wait_until(lambda: isr(cluster, "theirs") == {OURS, THEIRS})
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return Scene(scraped(address), of(prometheus_samples(release, cluster.pid(THEIRS))), while_still, lines)


@contextmanager
def standing_still(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def isr(cluster: KafkaCluster, topic: str) -> set[int]:
    told = AdminClient({"bootstrap.servers": cluster.bootstrap(THEIRS)}).list_topics(topic, timeout=SECONDS)
    return set(told.topics[topic].partitions[0].isrs)


def produce(bootstrap: str, topic: str, count: int = RECORDS, acks: int = -1, timestamp: int = 0) -> list[int]:
    """Write records, and return the errors of those that were refused."""
    errors: list[int] = []
    producer = Producer({"bootstrap.servers": bootstrap, "acks": acks})
    for number in range(count):
        producer.produce(
            topic,
            b"record %d" % number,
            timestamp=timestamp,
            on_delivery=lambda error, _: errors.extend([error.code()] if error else []),
        )
    assert producer.flush(SECONDS) == 0
    return errors


def consume(bootstrap: str, topic: str) -> None:
    """Read all; of no group, so that no topic is made for groups."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None)
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    read, deadline = 0, time.monotonic() + SECONDS
    while read < RECORDS:
        read += sum(map(len, consumer.poll(timeout_ms=1_000).values()))
        assert time.monotonic() < deadline
    consumer.close()


def named(scrape: Scrape) -> set[tuple[str, frozenset[str]]]:
    """Kafka's metrics of a scrape, with the names of their labels."""
    return {
        (sample.name, frozenset(name for name, _ in sample.labels))
        for sample in scrape
        if sample.name.startswith("kafka_")
    }


def test_each_name_is_one_of_kafkas_with_the_same_labels(scene: Scene) -> None:
    # The exporter has no sums of times, and Kafka's connections are by their threads.
    missing = {each for each in named(scene.ours) - named(scene.theirs) if not each[0].endswith("_sum")}
    assert missing == {("kafka_server_socket_server_metrics_connection_count", frozenset({"listener"}))}
    assert len(named(scene.ours)) > 40


@pytest.mark.parametrize("name", ["partitioncount", "leadercount", "underreplicatedpartitions", "offlinereplicacount"])
def test_replicas_are_counted_as_kafka_counts_them(scene: Scene, name: str) -> None:
    assert scene.ours.value(f"{MANAGER}_{name}") == scene.theirs.value(f"{MANAGER}_{name}")


@pytest.mark.parametrize("name", ["current_leader", "current_epoch", "log_end_epoch"])
def test_the_same_controller_leads_the_quorum(scene: Scene, name: str) -> None:
    assert scene.ours.value(f"{QUORUM}_{name}") == scene.theirs.value(f"{QUORUM}_{name}")


@pytest.mark.parametrize("name", ["high_watermark", "log_end_offset"])
def test_the_metadata_goes_on(scene: Scene, name: str) -> None:
    assert 0 < scene.while_theirs_stood_still.value(f"{QUORUM}_{name}") <= scene.ours.value(f"{QUORUM}_{name}")
    assert scene.theirs.value(f"{QUORUM}_{name}") > 0


@pytest.mark.parametrize("name", ["isrshrinks_total", "isrexpands_total"])
def test_each_isr_has_shrunk_and_expanded_once(scene: Scene, name: str) -> None:
    assert scene.ours.value(f"{MANAGER}_{name}") == 1
    # Kafka's leader does not count a change of which the metadata tells it before the answer does.
    assert scene.theirs.value(f"{MANAGER}_{name}") in {0, 1}


def test_a_leader_whose_follower_stands_still(scene: Scene) -> None:
    still = scene.while_theirs_stood_still
    for name in ("underreplicatedpartitions", "underminisrpartitioncount"):
        assert still.value(f"{MANAGER}_{name}") == 1
    assert still.value("kafka_cluster_partition_insyncreplicascount", topic="ours", partition=0) == 1
    assert still.value("epochlog_broker_replica_lag", topic="ours", partition=0, replica=THEIRS) == 1


def test_what_goes_in_and_out_is_counted_as_kafka_counts_it(scene: Scene) -> None:
    for scrape, topic in ((scene.ours, "ours"), (scene.theirs, "theirs")):
        size = scrape.value("kafka_log_log_size", topic=topic, partition=0)
        assert scrape.value(f"{TOPICS}_messagesin_total", topic=topic) == RECORDS + 1
        assert scrape.value(f"{TOPICS}_bytesin_total", topic=topic) == size
        assert 0 < scrape.value(f"{TOPICS}_bytesout_total", topic=topic) <= size
        assert scrape.value(f"{TOPICS}_failedproducerequests_total", topic=topic) == 1
        assert scrape.value("kafka_log_log_logendoffset", topic=topic, partition=0) == RECORDS + 1
    other = scene.theirs.value("kafka_log_log_size", topic="ours", partition=0)
    assert scene.ours.value(f"{TOPICS}_replicationbytesout_total") >= other
    assert scene.ours.value(f"{TOPICS}_replicationbytesin_total") == scene.theirs.value(
        "kafka_log_log_size", topic="theirs", partition=0
    )


def test_each_change_has_its_line(scene: Scene) -> None:
    isrs = [(each["from"], each["to"]) for each in scene.lines if each["event"] == "isr-change"]
    assert isrs == [("9,1", "9"), ("9", "9,1")]
    roles = [
        (each["topic"], each["from"], each["to"], each["leader"])
        for each in scene.lines
        if each["event"] == "role-change"
    ]
    assert roles == [("ours", "none", "leader", OURS), ("theirs", "none", "follower", THEIRS)]
    assert all(each["time"] > 0 for each in scene.lines)
    assert all(each["why"] for each in scene.lines if each["event"] != "trouble-over")
