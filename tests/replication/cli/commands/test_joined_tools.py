"""Kafka's own tools, and ours, show and move a broker of ours as any other; each asks through it."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from logstore import TopicPartition
from tests.oracle.cluster import CLUSTER_ID, CONTROLLER, KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.oracle.tools import KafkaTools
from tests.replication.cli.command import epochlog
from tests.replication.cli.commands.test_broker_in_a_real_cluster import wait_until
from tests.replication.cli.settings.joining import SECONDS, joined, server_properties
from tests.replication.cluster.broker.member import SESSION_MS, controllers
from tests.replication.cluster.node.joining.transactional_clients import LibrdkafkaClient
from tests.replication.told_partition import told_partition

OURS, THEIRS = 9, 1
TOPIC = "orders"


class Setting(NamedTuple):
    tools: KafkaTools
    ours: str
    theirs: str
    roots: list[Path]
    directory: Path
    events: Path
    """What the broker of ours says of itself."""

    def run(self, tool: str, *arguments: object, by: str = "--bootstrap-server") -> str:
        printed = self.tools.run(tool, by, self.ours, *arguments)
        assert printed.status == 0, printed
        return printed.out

    def partition(self) -> Any:
        return told_partition(AdminClient({"bootstrap.servers": self.ours}), TOPIC)

    def file(self, name: str, document: object) -> Path:
        path = self.directory / name
        path.write_text(json.dumps(document))
        return path


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Setting]:
    directory = tmp_path_factory.mktemp("cluster")
    ours = tmp_path_factory.mktemp("ours")
    roots = [ours / "one", ours / "two"]
    with (
        KafkaCluster(directory, release, controller_settings={"broker.session.timeout.ms": SESSION_MS}) as theirs,
        KafkaTools(release) as tools,
    ):
        config = server_properties(ours, controllers(theirs), OURS, log_dirs=",".join(map(str, roots)))
        assert epochlog("format", "--config", config, "--cluster-id", CLUSTER_ID).status == 0
        events = ours / "events.log"
        with open(events, "w") as errors, joined(config, errors) as (process, told):
            setting = Setting(tools, told["bootstrap"], theirs.bootstrap(), roots, ours, events)
            setting.run("kafka-topics", "--create", "--topic", TOPIC, "--replica-assignment", f"{THEIRS}:{OURS}")
            wait_until(lambda: sorted(setting.partition().isrs) == [THEIRS, OURS])
            yield setting
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0


def test_topics_are_described(cluster: Setting) -> None:
    told = cluster.run("kafka-topics", "--describe", "--topic", TOPIC)
    assert f"Leader: {THEIRS}\tReplicas: {THEIRS},{OURS}\tIsr: " in told


def test_versions_are_listed(cluster: Setting) -> None:
    told = cluster.run("kafka-broker-api-versions")
    assert f"{cluster.ours} (id: {OURS} rack: null" in told
    assert told.count("Produce(0): ") == 2


def test_settings_are_described_and_changed(cluster: Setting) -> None:
    of = ("--entity-type", "topics", "--entity-name", TOPIC)
    cluster.run("kafka-configs", "--alter", *of, "--add-config", "retention.ms=86400000")
    wait_until(lambda: "retention.ms=86400000" in cluster.run("kafka-configs", "--describe", *of))


def test_limits_and_users_are_described_and_changed(cluster: Setting) -> None:
    alice = ("--entity-type", "users", "--entity-name", "alice")
    for added in ("producer_byte_rate=1024", "SCRAM-SHA-256=[iterations=4096,password=secret]"):
        cluster.run("kafka-configs", "--alter", *alice, "--add-config", added)

    def told(by: str) -> list[str]:
        return cluster.tools.run("kafka-configs", "--bootstrap-server", by, "--describe", *alice).out.splitlines()

    wait_until(lambda: len(told(cluster.ours)) == 2)
    assert told(cluster.ours) == told(cluster.theirs)
    wait_until(lambda: "makes no difference" in cluster.events.read_text())
    [event] = [json.loads(line) for line in cluster.events.read_text().splitlines() if "makes no difference" in line]
    assert (event["event"], event["level"]) == ("log", "warning")
    assert event["why"].startswith(
        "producer_byte_rate, which is set for user alice, makes no difference to this broker"
    )
    for removed in ("producer_byte_rate", "SCRAM-SHA-256"):
        cluster.run("kafka-configs", "--alter", *alice, "--delete-config", removed)
    wait_until(lambda: not told(cluster.ours))


def test_the_quorum_is_described(cluster: Setting) -> None:
    replicas = cluster.run("kafka-metadata-quorum", "describe", "--replication")
    assert {line.split()[0] for line in replicas.splitlines() if "Observer" in line} >= {str(OURS), str(THEIRS)}
    status = cluster.run("kafka-metadata-quorum", "describe", "--status")
    assert f"LeaderId: {CONTROLLER} " in " ".join(status.split())


def test_features_are_described(cluster: Setting) -> None:
    told = cluster.run("kafka-features", "describe")
    assert "Feature: metadata.version" in told


def test_transactions_are_looked_for(cluster: Setting) -> None:
    told = cluster.run("kafka-transactions", "find-hanging", "--broker-id", OURS)
    assert told.splitlines()[-1].startswith("Topic\tPartition\tProducerId"), "none hangs"
    told = cluster.run("kafka-transactions", "describe-producers", "--topic", TOPIC, "--partition", 0)
    assert "ProducerId" in told


def test_the_leader_moves_by_the_preferred_order(cluster: Setting) -> None:
    moved = {"topic": TOPIC, "partition": 0, "replicas": [OURS, THEIRS]}
    plan = cluster.file("order.json", {"version": 1, "partitions": [moved]})
    cluster.run("kafka-reassign-partitions", "--reassignment-json-file", plan, "--execute")
    wait_until(lambda: cluster.partition().replicas == [OURS, THEIRS])
    of = ("--topic", TOPIC, "--partition", 0)
    told = cluster.run("kafka-leader-election", "--election-type", "preferred", *of)
    assert f"Successfully completed leader election (PREFERRED) for partitions {TOPIC}-0" in told
    wait_until(lambda: cluster.partition().leader == OURS)


def test_a_transaction_that_hangs_is_aborted_where_this_broker_leads(cluster: Setting) -> None:
    of = ("--topic", "hangs", "--partition", 0)
    cluster.run("kafka-topics", "--create", "--topic", "hangs", "--replica-assignment", f"{OURS}:{THEIRS}")
    producer = LibrdkafkaClient(cluster.ours, "hangs")
    producer.open()
    producer.send(["open"], TopicPartition("hangs", 0))
    write_plainly(cluster.ours, b"behind it")
    assert current_transactions(cluster, of) == ["0"]
    assert committed(cluster.ours) == []
    cluster.run("kafka-transactions", "abort", *of, "--start-offset", 0)
    wait_until(lambda: current_transactions(cluster, of) == ["None"])
    wait_until(lambda: committed(cluster.ours) == [b"behind it"])


def write_plainly(bootstrap: str, value: bytes) -> None:
    plain = Producer({"bootstrap.servers": bootstrap})
    plain.produce("hangs", value, partition=0)
    assert plain.flush(SECONDS) == 0


def current_transactions(cluster: Setting, of: tuple[object, ...]) -> list[str]:
    """Return the first offsets of the transactions that are open, by what the tool prints."""
    told = cluster.run("kafka-transactions", "describe-producers", *of).splitlines()
    column = told[0].split("\t").index("CurrentTransactionStartOffset")
    return [line.split("\t")[column].strip() for line in told[1:]]


def committed(bootstrap: str) -> list[bytes | None]:
    """Return the values that a consumer of what is committed gets within a second or two."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "isolation.level": "read_committed"})
    try:
        consumer.assign([Place("hangs", 0, 0)])
        return [message.value() for message in consumer.consume(100, 2.0) if message.error() is None]
    finally:
        consumer.close()


def _root(cluster: Setting) -> str:
    """Which of our directories the replica lies in, by what the tool prints."""
    told = cluster.run("kafka-log-dirs", "--describe", "--broker-list", OURS, "--topic-list", TOPIC)
    document = json.loads(next(line for line in told.splitlines() if line.startswith("{")))
    (broker,) = document["brokers"]
    assert {each["logDir"] for each in broker["logDirs"]} == set(map(str, cluster.roots))
    assert all(each["error"] is None for each in broker["logDirs"])
    (root,) = (each["logDir"] for each in broker["logDirs"] if each["partitions"])
    return str(root)


def test_a_replica_moves_between_its_directories(cluster: Setting) -> None:
    before = _root(cluster)
    (target,) = set(map(str, cluster.roots)) - {before}
    moved = {"topic": TOPIC, "partition": 0, "replicas": [OURS, THEIRS], "log_dirs": [target, "any"]}
    plan = cluster.file("place.json", {"version": 1, "partitions": [moved]})
    arguments = ("--reassignment-json-file", plan)
    cluster.run("kafka-reassign-partitions", *arguments, "--execute")
    wait_until(lambda: f"Reassignment of replica {TOPIC}-0-{OURS} completed" in _verified(cluster, *arguments))
    assert _root(cluster) == target


def _verified(cluster: Setting, *arguments: object) -> str:
    return cluster.run("kafka-reassign-partitions", *arguments, "--verify")


def test_our_own_commands_ask_through_it(cluster: Setting) -> None:
    shown = epochlog("cluster", "--bootstrap", cluster.ours)
    assert shown.status == 0, shown
    assert cluster.ours in shown.out
    preferred = ("--election-type", "preferred", "--all-topic-partitions")
    outcome = epochlog("elect", "--bootstrap", cluster.ours, *preferred, "--dry-run")
    assert outcome.status == 0, outcome
