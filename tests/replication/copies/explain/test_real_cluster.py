"""Beside real consumers of a real cluster: what they got, and what is explained, make up every offset."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition as AioPartition
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from replication.explain import Explanation, Why, explain
from tests.data.make_replicas import Story
from tests.data.make_replicas import wait_until as wait_for_cluster
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.told_partition import told_partition

PATIENT = {"initial.broker.registration.timeout.ms": 600_000}
DELETED, BASE, LOST, SINCE = 50, 300, 120, 40
ISOLATION = ("read_committed", "read_uncommitted")


class Scene:
    """What consumers got of each topic, by isolation level, and copies of the brokers that were read afterwards."""

    def __init__(self, cluster: KafkaCluster, copies: Path) -> None:
        self.cluster = cluster
        self.story = Story(cluster, 1)
        self.got: dict[tuple[str, str], set[int]] = {}
        self.copies = copies
        self.hanging: Producer | None = None
        """Has a transaction that stays open."""

    def consume(self, topic: str) -> None:
        """Read all that there is, with both clients and both levels."""
        for isolation in ISOLATION:
            got = consumed(self.cluster.bootstrap(), topic, isolation)
            assert asyncio.run(consumed_with_aiokafka(self.cluster.bootstrap(), topic, isolation)) == got
            self.got.setdefault((topic, isolation), set()).update(got)

    def leader(self, topic: str) -> int:
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap()})
        return int(told_partition(admin, topic).leader)

    def explain(self, topic: str, isolation: str) -> Explanation:
        copies = [self.copies / f"broker-{number}" for number in (1, 2)]
        return explain(f"{topic}-0", copies, committed_only=isolation == "read_committed")


def consumed(bootstrap: str, topic: str, isolation: str) -> set[int]:
    settings = {"group.id": "nobody", "enable.auto.commit": "false", "enable.partition.eof": "true"}
    consumer = Consumer({**settings, "bootstrap.servers": bootstrap, "isolation.level": isolation})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    got: set[int] = set()
    try:
        while message := consumer.poll(60):
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                break
            got.add(message.offset() or 0)
    finally:
        consumer.close()
    return got


async def consumed_with_aiokafka(bootstrap: str, topic: str, isolation: str) -> set[int]:
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level=isolation, enable_auto_commit=False)
    await consumer.start()
    partition = AioPartition(topic, 0)
    try:
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        got: set[int] = set()
        while batch := await consumer.getmany(partition, timeout_ms=4_000):
            got.update(message.offset for message in batch.get(partition, []))
        return got
    finally:
        await consumer.stop()


def write(scene: Scene) -> None:
    """Topics with a little of everything."""
    story = scene.story
    compaction = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": 0.01, "segment_ms": 1_000}
    for topic, settings in {"plain": {}, "txns": {}, "hanging": {}, "compacted": compaction}.items():
        story.create(topic, [[1, 2]], **settings)
    story.create("diverge", [[1, 2]], unclean_leader_election_enable="true", min_insync_replicas=1)
    story.produce("plain", 200, tag="p", codec="lz4")
    admin = AdminClient({"bootstrap.servers": scene.cluster.bootstrap()})
    for future in admin.delete_records([TopicPartition("plain", 0, DELETED)]).values():
        future.result(30)
    for number in range(6):
        producer = story.produce("txns", 70, tag=f"t{number}", transaction=f"tx-{number % 2}")
        (producer.abort_transaction if number % 3 == 1 else producer.commit_transaction)(30)
        story.produce("txns", 5, tag=f"between{number}")
    story.produce("hanging", 20, tag="before")
    settings = {"transactional.id": "hangs", "transaction.timeout.ms": 800_000}
    scene.hanging = producer = Producer({**settings, "bootstrap.servers": scene.cluster.bootstrap()})
    producer.init_transactions(30)
    producer.begin_transaction()
    for number in range(10):
        producer.produce("hanging", b"open-%d" % number, partition=0)
    producer.flush(30)
    story.produce("hanging", 20, tag="after")
    for _ in range(4):
        story.produce("compacted", 300, size=300, tag="k")
        time.sleep(1.3)
    producer = story.produce("compacted", 30, tag="k", transaction="tx-0")
    producer.abort_transaction(30)
    story.produce("compacted", 30, tag="k")
    story.produce("diverge", BASE, tag="base")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("cluster")
    with KafkaCluster(directory / "kafka", release, brokers=2, settings=PATIENT) as cluster:
        scene = Scene(cluster, directory / "copies")
        time.sleep(4)
        write(scene)
        wait_for_cluster(lambda: "compacted 0" in cleaned(cluster, 1), "the cleaner was there")
        time.sleep(5)
        for topic in ("plain", "txns", "hanging", "compacted"):
            scene.consume(topic)
        fork(scene)
        cluster.close()
        cluster.copy_logs(scene.copies)
        yield scene


def cleaned(cluster: KafkaCluster, node: int) -> str:
    path = cluster.log_dir(node) / "cleaner-offset-checkpoint"
    return path.read_text() if path.exists() else ""


def fork(scene: Scene) -> None:
    """Broker 1 writes alone, and dies; broker 2 leads without that."""
    cluster, story = scene.cluster, scene.story
    story.wait_for_isr("diverge", 2)
    cluster.kill(2)
    story.wait_for_isr("diverge", 1)
    story.produce("diverge", LOST, tag="lost")
    scene.consume("diverge")
    cluster.kill(1)
    cluster.start(2)
    wait_for_cluster(lambda: scene.leader("diverge") == 2, "broker 2 leads, uncleanly")
    story.produce("diverge", SINCE, tag="since", acks="1")


@pytest.mark.parametrize("isolation", ISOLATION)
@pytest.mark.parametrize("topic", ["plain", "txns", "hanging"])
def test_what_is_delivered_is_what_was_got_and_the_rest_is_explained(scene: Scene, topic: str, isolation: str) -> None:
    explanation = scene.explain(topic, isolation)
    delivered = {
        offset for each in explanation.of(Why.DELIVERED) for offset in range(each.first_offset, each.last_offset + 1)
    }
    assert delivered == scene.got[topic, isolation]
    assert Why.MISSING not in explanation.counts
    expected = {
        "plain": {Why.DELIVERED: 150, Why.EXPIRED: DELETED},
        "txns": {Why.DELIVERED: 4 * 70 + 30, Why.ABORTED: 2 * 70, Why.CONTROL: 6},
        "hanging": {Why.DELIVERED: 20, Why.OPEN: 30},
    }[topic]
    if isolation == "read_uncommitted":
        expected[Why.DELIVERED] += expected.pop(Why.ABORTED, 0) + expected.pop(Why.OPEN, 0)
    assert explanation.counts == expected


@pytest.mark.parametrize("isolation", ISOLATION)
def test_what_the_cleaner_took_is_explained(scene: Scene, isolation: str) -> None:
    explanation = scene.explain("compacted", isolation)
    lacking = explanation.without(np.array(sorted(scene.got["compacted", isolation])))
    assert explanation.counts.keys() <= {Why.DELIVERED, Why.COMPACTED, Why.CONTROL, Why.ABORTED}
    assert lacking.counts.keys() <= {Why.COMPACTED, Why.CONTROL, Why.ABORTED}
    assert lacking.counts[Why.COMPACTED] > 600
    assert not explanation.unexpected(np.array(sorted(scene.got["compacted", isolation]))).counts


def test_what_was_got_before_an_unclean_election_was_truncated(scene: Scene) -> None:
    explanation = scene.explain("diverge", "read_committed")
    got = scene.got["diverge", "read_committed"]
    assert got == set(range(BASE + LOST))
    assert (explanation.copy, explanation.counts) == (
        "broker-2",
        {Why.DELIVERED: BASE + SINCE, Why.TRUNCATED: LOST - SINCE},
    )
    [cut] = explanation.cut_off
    assert (cut.first_offset, cut.last_offset, cut.copy) == (BASE, BASE + LOST - 1, "broker-1")
    assert not explanation.without(np.array(sorted(got))).counts
