"""Brokers with a listener for each other and one for clients, who log in as users of the metadata."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from replication.cluster.controller.decision import Decision
from replication.cluster.node.metrics.broker_metrics import BrokerMetrics
from replication.records.metadata.records import MetadataRecord, RemoveUserScramCredentialRecord
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.client.security import SaslMechanism, SaslSettings
from replication.wire.encoding.kio_messages import request_class
from replication.wire.error_code import ErrorCode
from replication.wire.errors import AuthenticationFailedError, ConnectionFailedError
from replication.wire.messages.describe_cluster import DescribeClusterRequest
from replication.wire.messages.metadata import MetadataRequest
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.security.no_users import NoUsers
from replication.wire.server.security.sasl_authentication import SaslSettings as ServerSaslSettings
from tests.replication.cluster.node.listeners.test_metadata_users import NUMBERS, record
from tests.replication.cluster.node.remote_cluster import LOOPBACK, RemoteCluster

LOGINS = ServerSaslSettings(
    users=NoUsers(),
    mechanisms=(SaslMechanism.SCRAM_SHA_256, SaslMechanism.SCRAM_SHA_512),
    connection_failed_authentication_delay_ms=0,
)
CLIENTS = ListenerSettings(name="CLIENTS", address=LOOPBACK, sasl=LOGINS)
INNER = ListenerSettings(name="INNER", address=LOOPBACK, is_advertised=False)
MECHANISMS = {"sha256": SaslMechanism.SCRAM_SHA_256, "sha512": SaslMechanism.SCRAM_SHA_512}
ALICE = ClientSettings(sasl=SaslSettings(SaslMechanism.SCRAM_SHA_512, "alice", "secret"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteCluster]:
    with RemoteCluster(tmp_path_factory.mktemp("cluster"), more_listeners=(CLIENTS, INNER)) as cluster:
        decide(cluster, record("alice", "secret", "sha512"))
        yield cluster


def decide(cluster: RemoteCluster, *records: MetadataRecord) -> None:
    """Write records, and return once all brokers have them."""
    cluster.controller.controller.decide(lambda _: Decision(list(records), None))
    offset = cluster.controller.controller.published.applied_offset
    cluster.wait_until(lambda: all(each.node.applied_offset >= offset for each in cluster.brokers.values()))


def may_log_in(address: Address, password: str, digest: str) -> bool:
    try:
        with Connection.open(address, ClientSettings(sasl=SaslSettings(MECHANISMS[digest], "alice", password))):
            return True
    except AuthenticationFailedError:
        return False


def test_each_listener_tells_its_own_addresses_and_one_that_is_not_advertised_none(cluster: RemoteCluster) -> None:
    for running in cluster.brokers.values():
        node = running.node
        for name, settings in (("PLAINTEXT", ClientSettings()), ("CLIENTS", ALICE)):
            expected = {broker_id: each.node.addresses[name] for broker_id, each in cluster.brokers.items()}
            with Connection.open(node.addresses[name], settings) as connection:
                told = connection.ask(MetadataRequest(topics=()))
                assert {each.id: Address(each.host, each.port) for each in told.brokers.values()} == expected
                described = connection.ask(DescribeClusterRequest()).brokers
                assert {each: Address(*known.broker[1:3]) for each, known in described.items()} == expected
                found = connection.ask(request_class(10, 2)(key="g", key_type=0))
                assert (found.host, found.port) == node.addresses[name]
        assert "INNER" not in node.addresses
        with Connection.open(node.server.addresses["INNER"]) as connection:
            assert connection.ask(MetadataRequest(topics=())).brokers == {}
            found = connection.ask(request_class(10, 2)(key="g", key_type=0))
            assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_leader_that_lacks_the_listener_is_not_found_by_it(cluster: RemoteCluster) -> None:
    node = cluster.brokers[1].node
    with Connection.open(node.address) as connection:
        connection.ask(MetadataRequest(topics=("orders",), allow_auto_topic_creation=True))
    cluster.wait_until(lambda: "orders" in node.image.topics.by_name)
    with Connection.open(node.server.addresses["INNER"]) as connection:
        partition = connection.ask(MetadataRequest(topics=("orders",))).topics["orders"].partitions[0]
    assert (partition.error, partition.leader_id) == (ErrorCode.LISTENER_NOT_FOUND, -1)


@pytest.mark.parametrize("digest", NUMBERS)
def test_a_login_is_by_what_the_metadata_has_then(cluster: RemoteCluster, digest: str) -> None:
    address = cluster.brokers[2].node.addresses["CLIENTS"]
    decide(cluster, record("alice", "first", digest))
    assert may_log_in(address, "first", digest)
    with Connection.open(address, ClientSettings(sasl=SaslSettings(MECHANISMS[digest], "alice", "first"))) as open_one:
        decide(cluster, record("alice", "second", digest))
        assert not may_log_in(address, "first", digest)
        assert may_log_in(address, "second", digest)
        decide(cluster, RemoveUserScramCredentialRecord(name="alice", mechanism=NUMBERS[digest]))
        assert not may_log_in(address, "second", digest)
        assert open_one.ask(MetadataRequest(topics=())).brokers


def test_connections_are_told_by_listener(cluster: RemoteCluster) -> None:
    node = cluster.brokers[1].node
    with Connection.open(node.server.addresses["INNER"]) as connection:
        connection.ask(MetadataRequest(topics=()))
        family = next(each for each in BrokerMetrics(node).collect() if each.name.endswith("connection_count"))
        counts = {sample.labels["listener"]: sample.value for sample in family.samples}
    assert (counts.keys(), counts["INNER"]) == ({"PLAINTEXT", "CLIENTS", "INNER"}, 1)


def test_an_end_closes_all_listeners(tmp_path: Path) -> None:
    with RemoteCluster(tmp_path, 1, more_listeners=(CLIENTS, INNER)) as cluster:
        addresses = list(cluster.brokers[1].node.server.addresses.values())
        cluster.stop(1)
        for address in addresses:
            with pytest.raises(ConnectionFailedError):
                Connection.open(address)
