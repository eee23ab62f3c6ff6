"""Groups and transactions of a real cluster that `epochlog broker` has joined before any coordinator was asked for."""

import json
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from replication.cluster.node.coordinators.coordinator_topic import COORDINATOR_TOPICS
from replication.cluster.node.coordinators.other_coordinators import GROUPS, coordinating_partition
from replication.records.metadata.image import ClusterImage
from replication.wire.client.connection import Connection
from tests.oracle.cluster import CLUSTER_ID, KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.cli.schemas import validate
from tests.replication.cli.settings.joining import SECONDS, joined, server_properties
from tests.replication.cluster.broker.authorization.random_questions import kio_request
from tests.replication.cluster.broker.member import SESSION_MS, controllers, create_topic
from tests.replication.waiting import wait_until

OURS, THEIRS = 9, 1
TOPIC, RECORDS, PARTITIONS = "orders", 200, 4
FIND_COORDINATOR = 10
KEYS = ("group", "transaction", "group:AAAAAAAAAAAAAAAAAAAAAQ:0")
"""Of each type of coordinator, in the order of the types."""
NAMES = [topic.name for topic in COORDINATOR_TOPICS]


class RealCluster:
    """One broker of Kafka's, and what it takes for one of ours to join."""

    def __init__(self, kafka: KafkaCluster) -> None:
        self.kafka = kafka

    def configured(self, directory: Path, node: int = OURS, **changes: object) -> Path:
        config = server_properties(directory, controllers(self.kafka), node, **changes)
        assert epochlog("format", "--config", config, "--cluster-id", CLUSTER_ID).status == 0
        return config

    @property
    def image(self) -> ClusterImage:
        return self.kafka.image()

    def replicas(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Who has the partitions of coordinators' topics."""
        topics = self.image.topics.by_name
        return {
            TopicPartition(name, number): partition.replicas
            for name in NAMES
            if name in topics
            for number, partition in topics[name].partitions.items()
        }


@pytest.fixture
def cluster(tmp_path: Path, release: KafkaRelease) -> Iterator[RealCluster]:
    settings = {
        f"{each}.num.partitions": PARTITIONS
        for each in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
    }
    session = {"broker.session.timeout.ms": SESSION_MS}
    with KafkaCluster(tmp_path / "cluster", release, settings=settings, controller_settings=session) as cluster:
        yield RealCluster(cluster)


def find_coordinator(bootstrap: str, key_type: int) -> None:
    """Let the topic be made that coordinators of a type need, if it is not there."""
    with Connection.open(bootstrap) as connection:
        asked = kio_request(FIND_COORDINATOR, 6, {"key_type": key_type, "coordinator_keys": (KEYS[key_type],)})
        connection.ask(asked)


def groups_of_each_partition() -> list[str]:
    names = (f"group-{number}" for number in range(1_000))
    found: dict[int, str] = {}
    for name in names:
        found.setdefault(coordinating_partition(name, PARTITIONS), name)
    return list(found.values())


def write(bootstrap: str, transactional_id: str | None = None) -> None:
    of_transaction = {} if transactional_id is None else {"transactional.id": transactional_id}
    producer = Producer({"bootstrap.servers": bootstrap, **of_transaction})
    if transactional_id is not None:
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
    for number in range(RECORDS):
        producer.produce(TOPIC, f"order {number}".encode())
    assert producer.flush(SECONDS) == 0
    if transactional_id is not None:
        producer.commit_transaction(SECONDS)


def read(bootstrap: str, group: str, count: int) -> int:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([TOPIC])
    try:
        found = len(consumer.consume(count, SECONDS))
        consumer.commit(asynchronous=False)
        return found
    finally:
        consumer.close()


def events(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def described(image: ClusterImage) -> dict[str, tuple[int, int, Mapping[str, str]]]:
    """How the topics of coordinators are made: partitions, replicas of each, settings."""
    topics = image.topics.by_name
    return {
        name: (
            len(topics[name].partitions),
            len(topics[name].partitions[0].replicas),
            dict(image.configurations.of(2, name)),
        )
        for name in NAMES
    }


def test_groups_and_transactions_work_wherever_their_ids_belong(cluster: RealCluster, tmp_path: Path) -> None:
    with joined(cluster.configured(tmp_path)) as (process, told):
        create_topic(cluster.kafka, TOPIC, [THEIRS, OURS])
        ours, theirs = told["bootstrap"], cluster.kafka.bootstrap(THEIRS)
        assert set(cluster.replicas().values()) == {(THEIRS,)}
        assert len(cluster.replicas()) == PARTITIONS * len(NAMES)
        ids = groups_of_each_partition()
        for number, transactional_id in enumerate(ids):
            write((ours, theirs)[number % 2], transactional_id)
        count = RECORDS * len(ids)
        for number, group in enumerate(ids):
            # Each transaction ends with a marker, which has an offset and is no record.
            assert read((theirs, ours)[number % 2], group, count) == count
        consumer = cluster.kafka.run_tool(
            "org.apache.kafka.tools.consumer.ConsoleConsumer",
            *("--bootstrap-server", ours, "--topic", TOPIC, "--from-beginning"),
            *("--group", f"console-{ids[0]}", "--max-messages", count, "--timeout-ms", SECONDS * 1_000),
        )
        assert len(consumer.splitlines()) == count
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0


def test_the_topics_are_made_as_kafkas_broker_makes_them(
    cluster: RealCluster, tmp_path: Path, release: KafkaRelease
) -> None:
    with KafkaCluster(tmp_path / "alone", release, settings=cluster.kafka.settings) as alone:
        for key_type in range(len(KEYS)):
            find_coordinator(alone.bootstrap(), key_type)
        wait_until(lambda: set(NAMES) <= alone.image().topics.by_name.keys())
        expected = described(alone.image())
    with joined(cluster.configured(tmp_path)):
        assert described(cluster.image) == expected


def test_what_it_has_of_them_already_is_told_at_each_start_with_what_moves_it(
    cluster: RealCluster, tmp_path: Path
) -> None:
    ours = cluster.configured(tmp_path, start_without_coordinators="true")
    theirs = cluster.kafka.bootstrap(THEIRS)
    with joined(ours):
        # As many as Kafka's broker has counted on since its start.
        admin = AdminClient({"bootstrap.servers": theirs})
        made = NewTopic(GROUPS, PARTITIONS, replica_assignment=[[OURS]] * PARTITIONS)
        admin.create_topics([made])[GROUPS].result(SECONDS)
    log = tmp_path / "ours.log"
    with log.open("w") as errors, joined(ours, errors):
        wait_until(lambda: any(each["event"] == "coordinator-replicas" for each in events(log)))
        (told,) = (each for each in events(log) if each["event"] == "coordinator-replicas")
        validate("broker", told, "coordinator_replicas")
        assert (told["topics"], told["partitions"]) == (GROUPS, PARTITIONS)
        moves = tmp_path / "moves.json"
        moves.write_text(told["moves"])
        command = told["next"].partition(" #")[0].replace("moves.json", str(moves)).split()
        cluster.kafka.run_tool("org.apache.kafka.tools.reassign.ReassignPartitionsCommand", *command[1:])
        wait_until(lambda: set(cluster.replicas().values()) == {(THEIRS,)})
        create_topic(cluster.kafka, TOPIC, [THEIRS])
        write(theirs)
        assert read(theirs, "moved", RECORDS) == RECORDS
    log.write_text("")
    with log.open("w") as errors, joined(ours, errors):
        pass
    assert [each for each in events(log) if each["event"] == "coordinator-replicas"] == []


def refused(config: Path) -> Outcome:
    outcome = epochlog("broker", "--config", config)
    assert outcome.status == 2
    return outcome


def test_it_refuses_to_start_where_fewer_others_are_there_than_their_settings_want_replicas(
    tmp_path: Path, release: KafkaRelease
) -> None:
    settings = {"transaction.state.log.replication.factor": 2}
    session = {"broker.session.timeout.ms": SESSION_MS}
    with KafkaCluster(tmp_path / "cluster", release, settings=settings, controller_settings=session) as kafka:
        cluster = RealCluster(kafka)
        config = cluster.configured(tmp_path, initial_broker_registration_timeout_ms=15_000)
        error = refused(config).err
        assert "transaction.state.log.replication.factor of broker 1 is 2" in " ".join(error.split())
        assert cluster.replicas() == {}
        # What a controller that places nothing here by itself may make later does no harm.
        cordoned = cluster.configured(tmp_path, 8, cordoned_log_dirs="*")
        with joined(cordoned):
            find_coordinator(kafka.bootstrap(THEIRS), 0)
            wait_until(lambda: cluster.replicas() != {})
            assert set(cluster.replicas().values()) == {(THEIRS,)}


def test_two_that_join_at_once_leave_the_topics_to_kafkas_broker(cluster: RealCluster, tmp_path: Path) -> None:
    first, second = (cluster.configured(tmp_path, node) for node in (OURS, 8))
    admin = AdminClient({"bootstrap.servers": cluster.kafka.bootstrap(THEIRS)})
    with joined(first), joined(second):
        wait_until(lambda: len(admin.list_topics(timeout=SECONDS).brokers) == 3)
        assert set(cluster.replicas().values()) == {(THEIRS,)}
