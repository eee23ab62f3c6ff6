"""A real broker: every version, every way to protect a connection, and what it says to those that it does not like."""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kio.schema.create_topics.v7.request import CreatableTopic, CreateTopicsRequest
from kio.schema.produce.v11.request import PartitionProduceData, ProduceRequest, TopicProduceData

from epoch import EndOffset
from logstore import TopicPartition
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.client.connection import Connection
from replication.wire.client.java_store import JavaStore
from replication.wire.client.oauth import OAuthSettings
from replication.wire.client.security import SaslMechanism, SaslSettings, TlsSettings
from replication.wire.error_code import ErrorCode
from replication.wire.errors import (
    AuthenticationFailedError,
    CertificateRefusedError,
    ConnectionClosedError,
    ConnectionFailedError,
    MalformedResponseError,
    NoBrokerError,
)
from replication.wire.messages import (
    describe_cluster,
    describe_configs,
    describe_quorum,
    fetch,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
)
from replication.wire.messages.api_versions import ApiVersions
from replication.wire.messages.describe_cluster import DescribeClusterRequest
from replication.wire.messages.describe_configs import DescribeConfigsRequest
from replication.wire.messages.describe_quorum import DescribeQuorumRequest
from replication.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from replication.wire.messages.fetch import FetchPartition, FetchRequest
from replication.wire.messages.list_offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    ListOffsetsRequest,
    OffsetQuestion,
)
from replication.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from replication.wire.messages.metadata import MetadataRequest
from replication.wire.messages.offset_for_leader_epoch import EpochQuestion, OffsetForLeaderEpochRequest
from tests.logstore.batches import simple_batch
from tests.oracle.release import KafkaRelease
from tests.replication.wire.java_stores import PASSWORD as STORE_PASSWORD
from tests.replication.wire.java_stores import key_store, trust_store
from tests.replication.wire.secure_broker import PASSWORD, USER, SecureBroker
from tests.replication.wire.token_server import CLIENT, SECRET, TokenServer

ORDERS = TopicPartition("orders", 0)
BATCHES = simple_batch(0, [b"a", b"b"]) + simple_batch(2, [b"c" * 100_000])
SECONDS = 30


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[SecureBroker]:
    with SecureBroker(tmp_path_factory.mktemp("secure"), release) as cluster:
        with _connection(cluster, "PLAINTEXT") as connection:
            _create_orders(connection)
        yield cluster


def _create_orders(connection: Connection) -> None:
    topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1, assignments=(), configs=())
    created = connection.ask(CreateTopicsRequest(topics=(topic,), timeout=timedelta(seconds=SECONDS)))
    assert created.topics[0].error_code == ErrorCode.NONE
    deadline = time.monotonic() + SECONDS
    for batch in (simple_batch(0, [b"a", b"b"]), simple_batch(0, [b"c" * 100_000])):
        data = TopicProduceData(name="orders", partition_data=(PartitionProduceData(index=0, records=batch),))
        produce = ProduceRequest(transactional_id=None, acks=-1, timeout=timedelta(seconds=1), topic_data=(data,))
        while connection.ask(produce).responses[0].partition_responses[0].error_code != ErrorCode.NONE:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def _connection(cluster: SecureBroker, listener: str, **settings: Any) -> Connection:
    return Connection.open(cluster.addresses[listener], ClientSettings(request_timeout_ms=10_000, **settings))


def _sasl(mechanism: SaslMechanism, password: str = PASSWORD, user: str = USER) -> SaslSettings:
    return SaslSettings(mechanism, user, password)


def _at(connection: Connection, api_key: int, version: int) -> Connection:
    """Let the connection believe that the broker speaks one version only."""
    assert version in connection.versions.theirs[api_key]
    connection._exchange.versions = ApiVersions({api_key: range(version, version + 1)})
    return connection


# Versions


@pytest.mark.parametrize("version", fetch.VERSIONS)
def test_records_come_as_the_leader_has_them_in_every_version(cluster: SecureBroker, version: int) -> None:
    with _connection(cluster, "PLAINTEXT") as connection:
        topic_id = connection.ask(MetadataRequest(topics=("orders",))).topics["orders"].topic_id
        assert topic_id is not None
        request = FetchRequest(
            partitions={ORDERS: FetchPartition(0, 1_000_000, current_leader_epoch=0)},
            topic_ids={"orders": topic_id},
        )
        answer = _at(connection, fetch.API_KEY, version).ask(request).partitions[ORDERS]
        assert answer.error is ErrorCode.NONE
        assert answer.high_watermark == 3
        assert answer.log_start_offset == (0 if version >= 5 else -1)
        assert bytes(answer.records) == BATCHES


def test_a_leader_tells_where_a_follower_diverges(cluster: SecureBroker) -> None:
    with _connection(cluster, "PLAINTEXT") as connection:
        asked = FetchPartition(50, 1_000, current_leader_epoch=0, last_fetched_epoch=0)
        answer = connection.ask(FetchRequest(partitions={ORDERS: asked})).partitions[ORDERS]
        assert (answer.error, answer.diverging_epoch) == (ErrorCode.NONE, EndOffset(0, 3))
        silent = asked._replace(last_fetched_epoch=-1)
        answer = connection.ask(FetchRequest(partitions={ORDERS: silent})).partitions[ORDERS]
        assert answer.error is ErrorCode.OFFSET_OUT_OF_RANGE
        assert answer.diverging_epoch is None


def test_a_session_is_opened_and_then_tells_only_of_news(cluster: SecureBroker) -> None:
    with _connection(cluster, "PLAINTEXT") as connection:
        everything = {ORDERS: FetchPartition(3, 1_000)}
        first = connection.ask(
            FetchRequest(partitions=everything, session_epoch=fetch.INITIAL_SESSION_EPOCH, max_wait_ms=0)
        )
        assert first.session_id != fetch.NO_SESSION
        assert first.partitions.keys() == {ORDERS}
        again = connection.ask(FetchRequest(partitions={}, session_id=first.session_id, session_epoch=1, max_wait_ms=0))
        assert (again.session_id, again.partitions) == (first.session_id, {})
        wrong = connection.ask(FetchRequest(partitions={}, session_id=first.session_id, session_epoch=7, max_wait_ms=0))
        assert wrong.error is ErrorCode.INVALID_FETCH_SESSION_EPOCH


@pytest.mark.parametrize("version", [2, 3, 4])
def test_an_epochs_end_is_told_in_every_version_that_it_speaks(cluster: SecureBroker, version: int) -> None:
    with _connection(cluster, "PLAINTEXT") as connection:
        request = OffsetForLeaderEpochRequest(partitions={ORDERS: EpochQuestion(0, 0)})
        answer = _at(connection, offset_for_leader_epoch.API_KEY, version).ask(request).partitions[ORDERS]
        assert answer == (ErrorCode.NONE, EndOffset(0, 3))


@pytest.mark.parametrize("version", list_offsets.VERSIONS)
def test_offsets_are_listed_in_every_version(cluster: SecureBroker, version: int) -> None:
    with _connection(cluster, "PLAINTEXT") as connection:
        _at(connection, list_offsets.API_KEY, version)
        asked = {LATEST: 3, EARLIEST: 0, **({EARLIEST_LOCAL: 0} if version >= 8 else {})}
        for timestamp, offset in asked.items():
            answer = connection.ask(ListOffsetsRequest(partitions={ORDERS: OffsetQuestion(timestamp)}))
            assert answer.partitions[ORDERS][:2] == (ErrorCode.NONE, offset)


@pytest.mark.parametrize("version", metadata.VERSIONS)
def test_leaders_are_told_in_every_version(cluster: SecureBroker, version: int) -> None:
    with _connection(cluster, "PLAINTEXT") as connection:
        told = _at(connection, metadata.API_KEY, version).ask(MetadataRequest(topics=("orders", "nothing")))
        assert told.brokers.keys() == {1}
        assert told.topics["nothing"].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        leader = told.topics["orders"].partitions[0]
        assert (leader.error, leader.leader_id, leader.isr) == (ErrorCode.NONE, 1, (1,))
        assert leader.leader_epoch == (0 if version >= 7 else -1)


@pytest.mark.parametrize("version", describe_cluster.VERSIONS)
def test_brokers_are_described_in_every_version(cluster: SecureBroker, version: int) -> None:
    with _connection(cluster, "PLAINTEXT") as connection:
        known = connection.ask(MetadataRequest(topics=())).brokers[1]
        told = _at(connection, describe_cluster.API_KEY, version).ask(DescribeClusterRequest())
        assert told.error is ErrorCode.NONE
        assert told.brokers == {1: (known, False if version >= 2 else None)}


@pytest.mark.parametrize("version", describe_quorum.VERSIONS)
def test_the_quorum_is_described_in_every_version(cluster: SecureBroker, version: int) -> None:
    with _connection(cluster, "PLAINTEXT") as connection:
        told = _at(connection, describe_quorum.API_KEY, version).ask(DescribeQuorumRequest())
        assert (told.error, told.leader_id, [voter.id for voter in told.voters]) == (ErrorCode.NONE, 1, [1])
        assert (told.voters[0].last_caught_up_ms > 0) is (version >= 1)


@pytest.mark.parametrize("version", describe_configs.VERSIONS)
def test_settings_are_described_in_every_version(cluster: SecureBroker, version: int) -> None:
    with _connection(cluster, "PLAINTEXT") as connection:
        request = DescribeConfigsRequest.of_topics(("orders", "nothing"), ("cleanup.policy", "min.insync.replicas"))
        told = _at(connection, describe_configs.API_KEY, version).ask(request).topics
        assert told["nothing"].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert dict(told["orders"].values) == {"cleanup.policy": "delete", "min.insync.replicas": "1"}


def test_topics_are_described_page_by_page(cluster: SecureBroker) -> None:
    with _connection(cluster, "PLAINTEXT") as connection:
        whole = connection.ask(DescribeTopicPartitionsRequest())
        assert whole.next_cursor is None
        first = connection.ask(DescribeTopicPartitionsRequest(partition_limit=1))
        pages = {**first.topics}
        while first.next_cursor is not None:
            first = connection.ask(DescribeTopicPartitionsRequest(partition_limit=1, cursor=first.next_cursor))
            pages |= first.topics
        assert pages.keys() == whole.topics.keys()
        leader = whole.topics["orders"].partitions[0]
        assert (leader.leader_id, leader.leader_epoch, leader.isr, leader.elr) == (1, 0, (1,), ())


def test_no_reassignment_goes_on(cluster: SecureBroker) -> None:
    with _connection(cluster, "PLAINTEXT") as connection:
        told = connection.ask(ListPartitionReassignmentsRequest())
        assert (told.error, told.partitions) == (ErrorCode.NONE, {})


def test_a_client_of_the_cluster_finds_its_broker(cluster: SecureBroker) -> None:
    with ClusterClient(str(cluster.addresses["PLAINTEXT"])) as client:
        assert client.metadata(["orders"]).topics["orders"].error is ErrorCode.NONE
        assert client.connection_to(1).address == cluster.addresses["PLAINTEXT"]


# Who is asking


@pytest.mark.parametrize("mechanism", SaslMechanism)
@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_a_user_with_a_password(cluster: SecureBroker, listener: str, mechanism: SaslMechanism) -> None:
    tls = TlsSettings(ca=cluster.authority.certificate) if listener == "SASL_SSL" else None
    with _connection(cluster, listener, tls=tls, sasl=_sasl(mechanism)) as connection:
        assert "orders" in connection.ask(MetadataRequest(topics=None)).topics


@pytest.mark.parametrize("mechanism", SaslMechanism)
@pytest.mark.parametrize(("user", "password"), [(USER, "wrong"), ("mallory", PASSWORD)])
def test_a_wrong_password_or_user(cluster: SecureBroker, mechanism: SaslMechanism, user: str, password: str) -> None:
    with pytest.raises(AuthenticationFailedError) as refused:
        _connection(cluster, "SASL_PLAINTEXT", sasl=_sasl(mechanism, password, user))
    told = str(refused.value)
    assert told.startswith(
        f"{cluster.addresses['SASL_PLAINTEXT']}: authentication failed: the broker refuses {user} with"
    )
    assert "\n" not in told
    assert password not in told


def test_a_wrong_password_is_wrong_everywhere_so_no_other_broker_is_tried(cluster: SecureBroker) -> None:
    settings = ClientSettings(sasl=_sasl(SaslMechanism.PLAIN, "wrong"))
    address = cluster.addresses["SASL_PLAINTEXT"]
    with ClusterClient([address, address], settings) as client, pytest.raises(AuthenticationFailedError):
        client.metadata()


def test_a_password_where_nobody_asks_for_one(cluster: SecureBroker) -> None:
    with pytest.raises(AuthenticationFailedError, match="the listener does not use authentication"):
        _connection(cluster, "PLAINTEXT", sasl=_sasl(SaslMechanism.PLAIN))


def test_no_password_where_one_is_asked_for(cluster: SecureBroker) -> None:
    with (
        _connection(cluster, "SASL_PLAINTEXT") as connection,
        pytest.raises(ConnectionClosedError, match=r"if it always does, the listener may expect authentication$"),
    ):
        connection.ask(MetadataRequest(topics=None))


# Certificates


def test_a_broker_whose_authority_is_trusted(cluster: SecureBroker) -> None:
    with _connection(cluster, "SSL", tls=TlsSettings(ca=cluster.authority.certificate)) as connection:
        answer = connection.ask(FetchRequest(partitions={ORDERS: FetchPartition(0, 1_000_000)})).partitions[ORDERS]
        assert bytes(answer.records) == BATCHES


@pytest.mark.parametrize("trusted", ["system", "stranger"])
def test_a_broker_whose_authority_is_not_trusted(cluster: SecureBroker, trusted: str) -> None:
    tls = TlsSettings(ca=cluster.stranger.certificate if trusted == "stranger" else None)
    address = cluster.addresses["SSL"]
    with pytest.raises(
        CertificateRefusedError, match=rf"^{address}: the broker's certificate is refused: .*; name the"
    ):
        _connection(cluster, "SSL", tls=tls)


def test_a_broker_with_the_certificate_of_another_host(cluster: SecureBroker) -> None:
    trusting = TlsSettings(ca=cluster.authority.certificate)
    with pytest.raises(CertificateRefusedError, match="IP address mismatch"):
        _connection(cluster, "ELSEWHERE", tls=trusting)
    careless = TlsSettings(ca=cluster.authority.certificate, check_hostname=False)
    _connection(cluster, "ELSEWHERE", tls=careless).close()


@pytest.mark.parametrize("password", [None, "key-secret"])
def test_a_client_with_a_certificate(cluster: SecureBroker, password: str | None) -> None:
    own = cluster.authority.issue(f"client-{password}", "client.example", password)
    ca = cluster.authority.certificate
    for tls in (
        TlsSettings(ca=ca, certificate=own.certificate, key=own.key, key_password=password),
        TlsSettings(ca=ca, certificate=own.both, key_password=password),
    ):
        with _connection(cluster, "MUTUAL", tls=tls) as connection:
            assert connection.ask(MetadataRequest(topics=())).brokers.keys() == {1}


@pytest.mark.parametrize("known", ["nobody", "stranger"])
def test_a_client_whose_certificate_is_missing_or_not_trusted(cluster: SecureBroker, known: str) -> None:
    ca = cluster.authority.certificate
    own = cluster.stranger.issue("intruder", "client.example").both if known == "stranger" else None
    with pytest.raises(CertificateRefusedError, match="the broker refuses our certificate") as refused:
        _connection(cluster, "MUTUAL", tls=TlsSettings(ca=ca, certificate=own))
    assert "\n" not in str(refused.value)


def test_no_tls_where_it_is_expected(cluster: SecureBroker) -> None:
    with pytest.raises((ConnectionClosedError, MalformedResponseError), match="TLS"):
        _connection(cluster, "SSL")


def test_tls_where_nobody_expects_it(cluster: SecureBroker) -> None:
    with pytest.raises(ConnectionFailedError, match="does this listener speak TLS"):
        _connection(cluster, "PLAINTEXT", tls=TlsSettings(ca=cluster.authority.certificate))


@pytest.mark.parametrize("kind", ["PKCS12", "JKS"])
def test_a_client_with_certificates_in_stores_of_java(cluster: SecureBroker, kind: str, tmp_path: Path) -> None:
    own = cluster.authority.issue("client-java", "client.example")
    tls = TlsSettings(
        trust_store=JavaStore(trust_store(tmp_path / "trust", kind, cluster.authority.certificate), STORE_PASSWORD),
        key_store=JavaStore(key_store(tmp_path / "own", kind, own), STORE_PASSWORD),
    )
    with _connection(cluster, "MUTUAL", tls=tls) as connection:
        assert connection.ask(MetadataRequest(topics=())).brokers.keys() == {1}


# Tokens


@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_a_client_with_a_token(cluster: SecureBroker, listener: str) -> None:
    tls = TlsSettings(ca=cluster.authority.certificate) if listener == "SASL_SSL" else None
    with TokenServer() as server:
        oauth = OAuthSettings(token_endpoint=server.url, client_id=CLIENT, client_secret=SECRET)
        for _ in range(2):
            with _connection(cluster, listener, sasl=oauth, tls=tls) as connection:
                assert connection.ask(MetadataRequest(topics=())).brokers.keys() == {1}
        assert len(server.asked) == 1


def test_a_token_that_has_ended_is_refused_and_the_next_one_is_not(cluster: SecureBroker) -> None:
    with TokenServer() as server:
        server.lives = -60
        oauth = OAuthSettings(token_endpoint=server.url, client_id=CLIENT, client_secret=SECRET)
        with pytest.raises(
            AuthenticationFailedError, match=r"the broker refuses mirror with OAUTHBEARER: .*invalid_token"
        ):
            _connection(cluster, "SASL_PLAINTEXT", sasl=oauth)
        server.lives = 60
        _connection(cluster, "SASL_PLAINTEXT", sasl=oauth).close()


def _ask_until_it_fails(connection: Connection) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        connection.ask(MetadataRequest(topics=()))
        time.sleep(0.1)


def test_a_session_that_ends_with_its_token_is_a_lost_connection_and_the_next_has_another_token(
    cluster: SecureBroker,
) -> None:
    with TokenServer() as server:
        server.lives = 2
        oauth = OAuthSettings(token_endpoint=server.url, client_id=CLIENT, client_secret=SECRET)
        connection = _connection(cluster, "SASL_PLAINTEXT", sasl=oauth)
        with connection, pytest.raises(ConnectionClosedError, match=r": connection lost: the broker closed it") as lost:
            _ask_until_it_fails(connection)
        assert "may expect" not in str(lost.value)
        with _connection(cluster, "SASL_PLAINTEXT", sasl=oauth) as connection:
            connection.ask(MetadataRequest(topics=()))
        assert len(server.asked) == 2


# The end: no test after this one has a broker.


def test_a_broker_that_is_killed_is_a_lost_connection_whatever_protects_it(cluster: SecureBroker) -> None:
    clients = [
        ClusterClient([cluster.addresses[listener]], ClientSettings(tls=tls, sasl=sasl))
        for listener, tls, sasl in (
            ("PLAINTEXT", None, None),
            ("SSL", TlsSettings(ca=cluster.authority.certificate), None),
            ("SASL_PLAINTEXT", None, _sasl(SaslMechanism.PLAIN)),
            ("SASL_SSL", TlsSettings(ca=cluster.authority.certificate), _sasl(SaslMechanism.SCRAM_SHA_256)),
        )
    ]
    waiting = [client.open(1) for client in clients]
    for connection in waiting:
        connection.ask(MetadataRequest(topics=()))
        connection.send(FetchRequest(partitions={ORDERS: FetchPartition(3, 1_000_000)}, max_wait_ms=20_000))
    cluster.kill()
    for client, connection in zip(clients, waiting, strict=True):
        with connection, pytest.raises(ConnectionClosedError, match=r": connection lost: ") as lost:
            connection.receive()
        with client, pytest.raises(NoBrokerError, match="it has worked before: is the broker down") as gone:
            client.metadata()
        assert "TLS" not in f"{lost.value} {gone.value}"
        assert "authentication" not in f"{lost.value} {gone.value}"
