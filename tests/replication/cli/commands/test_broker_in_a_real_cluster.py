"""`epochlog broker` among Kafka's own controller and broker, from its first start to an orderly end."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.oracle.cluster import CLUSTER_ID, KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import epochlog
from tests.replication.cli.settings.joining import SECONDS, joined, server_properties
from tests.replication.cluster.broker.member import SESSION_MS, controllers, create_topic
from tests.replication.told_partition import told_partition
from tests.replication.waiting import wait_until

OURS, THEIRS = 9, 1
TOPIC = "orders"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[KafkaCluster]:
    directory = tmp_path_factory.mktemp("cluster")
    with KafkaCluster(directory, release, controller_settings={"broker.session.timeout.ms": SESSION_MS}) as cluster:
        yield cluster


def standing(bootstrap: str) -> tuple[int, set[int]]:
    """Who leads, and who is in sync, as a broker tells."""
    partition = told_partition(AdminClient({"bootstrap.servers": bootstrap}), TOPIC)
    return partition.leader, set(partition.isrs)


def produce(bootstrap: str, count: int) -> None:
    failures = []
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True})
    for number in range(count):
        producer.produce(
            TOPIC, b"order %d" % number, on_delivery=lambda error, _: failures.extend([error] * bool(error))
        )
    assert producer.flush(SECONDS) == 0
    assert failures == []


def consumed(bootstrap: str, count: int) -> int:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none"})
    try:
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        return len(consumer.consume(count, SECONDS))
    finally:
        consumer.close()


def consumed_by_group(bootstrap: str, count: int) -> int:
    settings = {"bootstrap.servers": bootstrap, "group.id": "readers", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    try:
        consumer.subscribe([TOPIC])
        return len(consumer.consume(count, SECONDS))
    finally:
        consumer.close()


def leaders(bootstrap: str, topic: str) -> set[int]:
    partitions = (
        AdminClient({"bootstrap.servers": bootstrap}).list_topics(topic, timeout=SECONDS).topics[topic].partitions
    )
    return {partition.leader for partition in partitions.values()}


def epochs(root: Path) -> list[str]:
    return (root / f"{TOPIC}-0" / "leader-epoch-checkpoint").read_text().splitlines()[2:]


def move_leader(cluster: KafkaCluster, leader: int, follower: int) -> None:
    """Move it as administrators do: by the order of replicas, and an election of the preferred one."""
    theirs = cluster.bootstrap(THEIRS)
    wait_until(lambda: standing(theirs)[1] == {OURS, THEIRS})
    partition = {"topic": TOPIC, "partition": 0}
    plan, elected = cluster.directory / "plan.json", cluster.directory / "elected.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{**partition, "replicas": [leader, follower]}]}))
    elected.write_text(json.dumps({"partitions": [partition]}))
    tools, to = "org.apache.kafka.tools", ("--bootstrap-server", theirs)
    cluster.run_tool(f"{tools}.reassign.ReassignPartitionsCommand", *to, "--reassignment-json-file", plan, "--execute")
    preferred = ("--election-type", "preferred", "--path-to-json-file", elected)
    cluster.run_tool(f"{tools}.LeaderElectionCommand", *to, *preferred)
    wait_until(lambda: standing(theirs)[0] == leader)


def test_its_life_from_the_first_start_to_an_orderly_end(cluster: KafkaCluster, tmp_path: Path) -> None:
    config = server_properties(tmp_path, controllers(cluster))
    assert epochlog("format", "--config", config, "--cluster-id", CLUSTER_ID).status == 0
    theirs = cluster.bootstrap(THEIRS)
    with joined(config) as (process, told):
        ours = told["bootstrap"]
        assert (told["node_id"], told["cluster_id"]) == (OURS, CLUSTER_ID)
        create_topic(cluster, TOPIC, [THEIRS, OURS])
        wait_until(lambda: standing(theirs) == (THEIRS, {OURS, THEIRS}))
        produce(ours, 50)
        move_leader(cluster, OURS, THEIRS)
        produce(theirs, 50)
        assert consumed(ours, 100) == 100
        assert consumed_by_group(ours, 100) == 100
        # The group is theirs, whichever broker is asked.
        admin = AdminClient({"bootstrap.servers": theirs})
        groups = admin.list_consumer_groups().result(SECONDS).valid
        assert "readers" in {group.group_id for group in groups}
        move_leader(cluster, THEIRS, OURS)
        move_leader(cluster, OURS, THEIRS)
        process.kill()
        process.wait(SECONDS)
    wait_until(lambda: standing(theirs) == (THEIRS, {THEIRS}))
    produce(theirs, 50)
    with joined(config) as (process, told):
        wait_until(lambda: standing(theirs)[1] == {OURS, THEIRS})
        move_leader(cluster, OURS, THEIRS)
        produce(theirs, 50)
        assert consumed(told["bootstrap"], 200) == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
    # It has handed over what it led, and closed all in order.
    assert standing(theirs) == (THEIRS, {THEIRS})
    root = tmp_path / f"ours-{OURS}"
    assert (root / ".kafka_cleanshutdown").exists()
    assert (root / "__cluster_metadata-0").is_dir()
    log = f"{TOPIC}-0/{0:020}.log"
    assert (root / log).read_bytes().rstrip(b"\0") == (cluster.log_dir(THEIRS) / log).read_bytes().rstrip(b"\0")
    # The other leads in one more epoch since.
    assert epochs(cluster.log_dir(THEIRS))[:-1] == epochs(root)


def test_the_controller_places_nothing_in_its_cordoned_directories_which_kafkas_tool_has_formatted(
    cluster: KafkaCluster, tmp_path: Path
) -> None:
    config = server_properties(tmp_path, controllers(cluster), 8, cordoned_log_dirs="*")
    cluster.run_tool("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", config)
    with joined(config) as (process, told):
        admin = AdminClient({"bootstrap.servers": told["bootstrap"]})
        admin.create_topics([NewTopic("placed", 8, 1)])["placed"].result(SECONDS)
        theirs = cluster.bootstrap(THEIRS)
        wait_until(lambda: "placed" in admin.list_topics(timeout=SECONDS).topics)
        assert leaders(theirs, "placed") == {THEIRS}
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
