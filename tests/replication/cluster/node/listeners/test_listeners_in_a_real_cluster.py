"""Several listeners and the users of the metadata, among Kafka's own controller and broker, with real clients."""

from collections.abc import Iterator, Mapping
from itertools import product

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from replication.wire.addresses import parse_address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.client.security import SaslMechanism, SaslSettings
from replication.wire.errors import AuthenticationFailedError
from tests.oracle.release import KafkaRelease
from tests.oracle.tools import KafkaTools, Printed
from tests.replication.cli.settings.joining import SECONDS
from tests.replication.cluster.broker.member import create_topic
from tests.replication.cluster.node.listeners.listening_cluster import (
    ADMIN,
    LISTENERS,
    MECHANISMS,
    OURS,
    PASSWORD,
    THEIRS,
    ListeningCluster,
    listening,
    login,
)
from tests.replication.told_partition import told_partition
from tests.replication.waiting import wait_until

BOTH = (OURS, THEIRS)
LED_BY = {"ours": [OURS, THEIRS], "theirs": [THEIRS, OURS]}
"""Topics, with their replicas: the first one leads."""
CLIENTS = ("PLAINTEXT", "LOGINS", "SECURE")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[ListeningCluster]:
    with listening(tmp_path_factory.mktemp("cluster"), release) as cluster:
        for topic, replicas in LED_BY.items():
            create_topic(cluster, topic, replicas)
        yield cluster


@pytest.fixture(scope="module")
def tools(release: KafkaRelease) -> Iterator[KafkaTools]:
    with KafkaTools(release) as tools:
        yield tools


def produced(settings: Mapping[str, str], topic: str, value: bytes, **more: object) -> None:
    failures: list[KafkaError] = []
    producer = Producer({**settings, "acks": "all", **more})
    producer.produce(topic, value, on_delivery=lambda error, _: failures.extend([error] if error else []))
    assert producer.flush(SECONDS) == 0
    assert failures == []


def consumed(settings: Mapping[str, str], topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer({**settings, "group.id": "none", "isolation.level": "read_committed"})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        return [each.value() for each in consumer.consume(count, SECONDS)]
    finally:
        consumer.close()


def refusal(cluster: ListeningCluster, node: int, user: str, password: str, mechanism: SaslMechanism) -> str:
    """Return what a client is told that may not log in; nothing to others."""
    login = ClientSettings(sasl=SaslSettings(mechanism, user, password))
    try:
        Connection.open(parse_address(cluster.of[node].address("LOGINS")), login).close()
    except AuthenticationFailedError as error:
        # The mechanisms that are accepted instead come in any order.
        return " ".join((error.reason, *sorted(error.advice.replace(",", "").split())))
    return ""


def test_each_listener_tells_where_the_brokers_are_by_it(cluster: ListeningCluster) -> None:
    for node, listener in product(BOTH, CLIENTS):
        told = AdminClient(cluster.client(node, listener)).list_topics(timeout=SECONDS).brokers
        assert {each.id: each.port for each in told.values()} == {
            other: cluster.of[other].by_listener[listener] for other in BOTH
        }


def test_brokers_follow_each_other_by_their_own_listener(cluster: ListeningCluster) -> None:
    admin = AdminClient(cluster.client(THEIRS, "PLAINTEXT"))
    for topic in LED_BY:
        wait_until(lambda of=topic: set(told_partition(admin, of).isrs) == set(BOTH))
    for topic in LED_BY:
        values = []
        for node, listener in product(BOTH, CLIENTS):
            values.append(f"{node} {listener}".encode())
            produced(cluster.client(node, listener), topic, values[-1])
        for node, listener in product(BOTH, CLIENTS):
            assert consumed(cluster.client(node, listener), topic, len(values)) == values


def test_a_leader_asks_the_coordinator_of_a_transaction_by_the_brokers_listener(cluster: ListeningCluster) -> None:
    create_topic(cluster, "moved", [OURS])
    producer = Producer({**cluster.client(OURS, "SECURE"), "transactional.id": "t"})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    producer.produce("moved", b"moved")
    producer.commit_transaction(SECONDS)
    assert consumed(cluster.client(THEIRS, "LOGINS"), "moved", 1) == [b"moved"]


class Users:
    """What administrators do with users, by Kafka's tool."""

    def __init__(self, cluster: ListeningCluster, tools: KafkaTools) -> None:
        self._tools = tools
        self._cluster = cluster

    def ask(self, *arguments: str, node: int = OURS) -> Printed:
        of = ("--bootstrap-server", self._cluster.of[node].address("PLAINTEXT"), "--entity-type", "users")
        return self._tools.run("kafka-configs", *of, *arguments)

    def put(self, name: str, credential: str) -> None:
        done = self.ask("--alter", "--entity-name", name, "--add-config", credential)
        assert done.status == 0, done

    def remove(self, name: str, mechanism: str) -> None:
        done = self.ask("--alter", "--entity-name", name, "--delete-config", mechanism)
        assert done.status == 0, done


def may_log_in(cluster: ListeningCluster, user: str, password: str, mechanism: str) -> list[bool]:
    """Whether a user may, at each of both brokers."""
    return [not refusal(cluster, node, user, password, SaslMechanism(mechanism)) for node in BOTH]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_user_logs_in_from_when_it_is_made_with_what_it_has_then(
    cluster: ListeningCluster, tools: KafkaTools, mechanism: str
) -> None:
    users = Users(cluster, tools)
    assert may_log_in(cluster, "alice", "first", mechanism) == [False, False]
    users.put("alice", f"{mechanism}=[iterations=8192,password=first]")
    wait_until(lambda: may_log_in(cluster, "alice", "first", mechanism) == [True, True])
    (other,) = set(MECHANISMS) - {mechanism}
    assert may_log_in(cluster, "alice", "first", other) == [False, False]
    produced(cluster.client(OURS, "SECURE", login("alice", "first", mechanism)), "ours", mechanism.encode())
    users.put("alice", f"{mechanism}=[password=second]")
    wait_until(lambda: may_log_in(cluster, "alice", "second", mechanism) == [True, True])
    assert may_log_in(cluster, "alice", "first", mechanism) == [False, False]
    users.remove("alice", mechanism)
    wait_until(lambda: may_log_in(cluster, "alice", "second", mechanism) == [False, False])


@pytest.mark.parametrize(
    ("user", "password", "mechanism"),
    [
        (ADMIN, "wrong", SaslMechanism.SCRAM_SHA_512),
        ("nobody", "x", SaslMechanism.SCRAM_SHA_512),
        (ADMIN, PASSWORD, SaslMechanism.SCRAM_SHA_256),
        (ADMIN, PASSWORD, SaslMechanism.PLAIN),
    ],
)
def test_whoever_is_refused_is_told_the_same_by_both(
    cluster: ListeningCluster, user: str, password: str, mechanism: SaslMechanism
) -> None:
    ours, theirs = (refusal(cluster, node, user, password, mechanism) for node in BOTH)
    assert ours == theirs != ""


def test_clients_of_java_come_by_each_listener(cluster: ListeningCluster, tools: KafkaTools) -> None:
    for node, listener in product(BOTH, ("LOGINS", "SECURE")):
        file = cluster.client_file(listener, ADMIN, PASSWORD, "SCRAM-SHA-512")
        at = ("--bootstrap-server", cluster.of[node].address(listener))
        written = tools.run(
            "kafka-console-producer", *at, "--topic", f"java-{node}-{listener}", "--command-config", file, typed="a\n"
        )
        assert written.status == 0, written
        read = tools.run(
            "kafka-console-consumer",
            *at,
            *("--topic", f"java-{node}-{listener}", "--partition", 0, "--offset", "earliest", "--max-messages", 1),
            *("--timeout-ms", SECONDS * 1_000, "--command-config", file),
        )
        assert read.out == "a\n", read


def test_all_listeners_are_in_use() -> None:
    assert {*CLIENTS, "BROKERS"} == set(LISTENERS)
