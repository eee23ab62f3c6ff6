"""A connection to brokers that behave, and to others."""

import socket
import threading
from typing import Never

import pytest

from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.encoding.kio_messages import request_classes
from replication.wire.errors import (
    ConnectionClosedError,
    ConnectionFailedError,
    MalformedResponseError,
    RequestTimedOutError,
    UnsupportedVersionError,
)
from replication.wire.messages.metadata import ClusterMetadata, MetadataRequest
from replication.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from tests.oracle.cluster import free_port
from tests.replication.wire.fake_broker import (
    SECONDS,
    FakeBroker,
    Silence,
    framed,
    greet,
    metadata,
    receive,
    versions,
)

ALL = MetadataRequest(topics=None)
HASTY = ClientSettings(request_timeout_ms=200, connect_timeout_ms=2_000)


def _answer_all(stream: socket.socket) -> None:
    greet(stream)
    while True:
        asked = receive(stream)
        stream.sendall(metadata(asked, cluster_id=str(asked.correlation_id)))


def _never_answer(stream: socket.socket) -> None:
    greet(stream)
    stream.recv(1_000_000)
    stream.recv(1)


def _say_nothing(stream: socket.socket) -> None:
    while stream.recv(1_000_000):
        pass


def _hang_up(stream: socket.socket) -> None:
    stream.recv(1_000_000)


def test_a_request_of_ours_is_answered_by_ours() -> None:
    with FakeBroker(_answer_all) as broker, Connection.open(broker.address) as connection:
        assert connection.versions.theirs[3] == range(14)
        assert isinstance(connection.ask(ALL), ClusterMetadata)
        assert connection.ask(ALL).cluster_id == "2"


def test_a_request_of_kios_is_answered_by_kios() -> None:
    request = request_classes(3, 12).MetadataRequest(topics=None, include_topic_authorized_operations=False)
    with FakeBroker(_answer_all) as broker, Connection.open(str(broker.address)) as connection:
        assert connection.ask(request).__version__ == 12


def test_requests_are_pipelined_and_answered_in_order() -> None:
    with FakeBroker(_answer_all) as broker, Connection.open(broker.address) as connection:
        sent = [connection.send(ALL) for _ in range(20)]
        received = [connection.receive() for _ in sent]
        assert [correlation_id for correlation_id, _ in received] == sent
        assert [answer.cluster_id for _, answer in received] == [str(correlation_id) for correlation_id in sent]


def test_answers_that_come_before_the_asked_one_are_kept() -> None:
    with FakeBroker(_answer_all) as broker, Connection.open(broker.address) as connection:
        first, second = connection.send(ALL), connection.send(ALL)
        assert connection.ask(ALL).cluster_id == str(second + 1)
        assert [connection.receive()[0], connection.receive()[0]] == [first, second]


def test_answers_may_come_byte_by_byte() -> None:
    def trickle(stream: socket.socket) -> None:
        for byte in versions(receive(stream)):
            stream.sendall(bytes([byte]))
        for byte in metadata(receive(stream)):
            stream.sendall(bytes([byte]))

    with FakeBroker(trickle) as broker, Connection.open(broker.address) as connection:
        assert connection.ask(ALL).cluster_id == "fake"


def test_a_late_answer_can_still_be_received() -> None:
    go_on = threading.Event()

    def late(stream: socket.socket) -> None:
        greet(stream)
        answer = metadata(receive(stream))
        stream.sendall(answer[:7])
        go_on.wait(SECONDS)
        stream.sendall(answer[7:])

    with FakeBroker(late) as broker, Connection.open(broker.address) as connection:
        sent = connection.send(ALL)
        for timeout_ms in (0, 50):
            with pytest.raises(RequestTimedOutError, match=r"no response to Metadata v13 within"):
                connection.receive(timeout_ms)
        go_on.set()
        assert connection.receive()[0] == sent


def test_whoever_asks_and_gets_no_answer_in_time_has_no_connection_any_more() -> None:
    with FakeBroker(_never_answer) as broker, Connection.open(broker.address) as connection:
        with pytest.raises(RequestTimedOutError, match=rf"{broker.address}: no response to Metadata v13 within 0.1 s"):
            connection.ask(ALL, timeout_ms=100)
        assert connection.closed
        with pytest.raises(ConnectionClosedError, match="closed on this side"):
            connection.ask(ALL)


def test_receiving_when_nothing_was_asked_is_an_error_at_once() -> None:
    with (
        FakeBroker(_never_answer) as broker,
        Connection.open(broker.address) as connection,
        pytest.raises(ValueError, match="no request was sent"),
    ):
        connection.receive()


@pytest.mark.parametrize("attempt", range(5))
def test_closing_wakes_a_thread_that_waits(attempt: int) -> None:
    del attempt
    silence = Silence()
    with FakeBroker(silence) as broker:
        connection = Connection.open(broker.address)
        errors: list[Exception] = []

        def wait() -> None:
            try:
                connection.ask(ALL)
            except ConnectionClosedError as error:
                errors.append(error)

        waiting = threading.Thread(target=wait)
        waiting.start()
        assert silence.asked.wait(SECONDS)
        connection.close()
        waiting.join(SECONDS)
        silence.end()
    assert not silence.kept_waiting
    assert ["closed on this side" in str(error) for error in errors] == [True]


def test_closing_twice_is_harmless() -> None:
    with FakeBroker(_answer_all) as broker:
        connection = Connection.open(broker.address)
        connection.close()
        connection.close()


def test_a_broker_that_ends_the_connection() -> None:
    def leave(stream: socket.socket) -> None:
        greet(stream)
        receive(stream)

    with FakeBroker(leave) as broker, Connection.open(broker.address) as connection:
        with pytest.raises(ConnectionClosedError, match=rf"{broker.address}: .* before it answered Metadata v13"):
            connection.ask(ALL)
        assert connection.closed


def test_an_answer_that_is_malformed_ends_the_connection() -> None:
    def confused(stream: socket.socket) -> None:
        greet(stream)
        receive(stream)
        stream.sendall((6).to_bytes(4, "big") + (1).to_bytes(4, "big") + b"\0\0")

    with FakeBroker(confused) as broker, Connection.open(broker.address) as connection:
        with pytest.raises(
            MalformedResponseError, match=rf"{broker.address}: the response to Metadata v13 is malformed"
        ):
            connection.ask(ALL)
        assert connection.closed


def test_a_request_that_the_broker_cannot_read_is_not_sent() -> None:
    def only_metadata(stream: socket.socket) -> None:
        stream.sendall(versions(receive(stream), {3: range(14), 18: range(5)}))
        stream.sendall(metadata(receive(stream)))

    with FakeBroker(only_metadata) as broker, Connection.open(broker.address) as connection:
        with pytest.raises(
            UnsupportedVersionError, match=rf"{broker.address}: OffsetForLeaderEpoch is supported in none"
        ):
            connection.ask(OffsetForLeaderEpochRequest(partitions={}))
        assert connection.ask(ALL).cluster_id == "fake"


def test_an_answer_larger_than_the_settings_allow_is_refused() -> None:
    settings = ClientSettings(max_response_bytes=1_000)

    def large(stream: socket.socket) -> None:
        greet(stream)
        stream.sendall(metadata(receive(stream), cluster_id="x" * 1_000))

    with (
        FakeBroker(large) as broker,
        Connection.open(broker.address, settings) as connection,
        pytest.raises(MalformedResponseError, match="at most 1,000 are allowed"),
    ):
        connection.ask(ALL)


# What is no broker


def test_what_breaks_off_its_making_leaves_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_off(_: object) -> Never:
        raise KeyboardInterrupt

    monkeypatch.setattr("replication.wire.client.connection.Exchange", broken_off)
    with socket.create_server(("127.0.0.1", 0)) as server:
        with pytest.raises(KeyboardInterrupt) as kept:  # its traceback keeps what was made
            Connection.open(Address(*server.getsockname()))
        peer, _ = server.accept()
        peer.settimeout(SECONDS)
        with peer:
            assert peer.recv(1) == b"", "hung up"
    assert kept.tb is not None


def test_a_port_where_nobody_listens() -> None:
    address = Address("127.0.0.1", free_port())
    with pytest.raises(ConnectionFailedError, match=rf"{address}: cannot connect: Connection refused; check the host"):
        Connection.open(address)


def test_a_host_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(
        ConnectionFailedError, match=r"^brokr:9092: cannot connect: the host is not known: Name or serv"
    ):
        Connection.open("brokr:9092")


def test_a_host_that_cannot_be_one() -> None:
    with pytest.raises(ConnectionFailedError, match="the host is not known"):
        Connection.open(Address("a" * 70 + ".example", 9092))


def test_a_server_that_says_nothing() -> None:
    told = r"no response to ApiVersions v4 within 0.2 s; is this a Kafka"
    with FakeBroker(_say_nothing) as broker, pytest.raises(RequestTimedOutError, match=told):
        Connection.open(broker.address, HASTY)


def test_a_web_server() -> None:
    def web(stream: socket.socket) -> None:
        stream.recv(1_000_000)
        stream.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        stream.recv(1)

    with FakeBroker(web) as broker, pytest.raises(MalformedResponseError, match="this is a web server"):
        Connection.open(broker.address)


def test_a_server_that_hangs_up() -> None:
    told = "the listener may expect TLS or authentication"
    with FakeBroker(_hang_up) as broker, pytest.raises(ConnectionClosedError, match=told):
        Connection.open(broker.address)


def test_a_server_that_answers_at_random() -> None:
    def random_bytes(stream: socket.socket) -> None:
        asked = receive(stream)
        stream.sendall(
            framed(
                asked.correlation_id, request_classes(3, 4).MetadataRequest(topics=(), allow_auto_topic_creation=False)
            )
        )

    with FakeBroker(random_bytes) as broker, pytest.raises(MalformedResponseError, match="ApiVersions v4 is malformed"):
        Connection.open(broker.address)
