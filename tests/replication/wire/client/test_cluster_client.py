"""A cluster is found through whichever broker answers."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.errors import ConnectionClosedError, NoBrokerError, RequestTimedOutError, UnknownBrokerError
from replication.wire.messages.metadata import Broker, MetadataRequest
from tests.oracle.cluster import free_port
from tests.replication.wire.fake_broker import SECONDS, FakeBroker, Silence, greet, metadata, receive

SETTINGS = ClientSettings(request_timeout_ms=300)


@contextmanager
def _cluster(size: int) -> Iterator[dict[int, FakeBroker]]:
    """Brokers 1, 2, ... that all tell of all."""
    brokers: dict[int, FakeBroker] = {}

    def serve(stream: socket.socket) -> None:
        greet(stream)
        while True:
            addresses = {broker_id: broker.address for broker_id, broker in brokers.items()}
            stream.sendall(metadata(receive(stream), addresses))

    with ExitStack() as stack:
        for broker_id in range(1, size + 1):
            brokers[broker_id] = stack.enter_context(FakeBroker(serve))
        yield brokers


def test_metadata_tells_of_all_brokers() -> None:
    with _cluster(3) as brokers, ClusterClient(str(brokers[2].address), SETTINGS) as client:
        expected = {broker_id: Broker(broker_id, *broker.address) for broker_id, broker in brokers.items()}
        assert client.metadata().brokers == expected
        assert client.metadata(None).cluster_id == "fake"
        assert brokers[2].connections == 1


def test_addresses_are_tried_one_after_the_other() -> None:
    nobody = Address("127.0.0.1", free_port())
    with _cluster(1) as brokers, ClusterClient([nobody, brokers[1].address], SETTINGS) as client:
        assert client.metadata().cluster_id == "fake"


def test_when_nobody_answers_one_line_names_all_and_why() -> None:
    nobody = Address("127.0.0.1", free_port())

    def say_nothing(stream: socket.socket) -> None:
        while stream.recv(1_000):
            pass

    with FakeBroker(say_nothing) as silent:
        client = ClusterClient([nobody, silent.address], SETTINGS)
        with pytest.raises(NoBrokerError) as error:
            client.metadata()
    told = str(error.value)
    assert "\n" not in told
    assert f"{nobody}: cannot connect: Connection refused" in told
    assert f"{silent.address}: no response to ApiVersions v4" in told


def test_a_broker_that_was_named_answers_when_the_first_is_gone() -> None:
    with _cluster(2) as brokers, ClusterClient([brokers[1].address], SETTINGS) as client:
        client.metadata()
        brokers[1].stop()
        client._informant.close()  # type: ignore[union-attr]
        assert client.metadata().cluster_id == "fake"
        assert brokers[2].connections == 1


def test_whoever_answers_last_is_asked_other_things_too_and_then_another() -> None:
    with _cluster(2) as brokers, ClusterClient([brokers[1].address], SETTINGS) as client:
        client.metadata()
        assert client.ask(MetadataRequest(topics=())).cluster_id == "fake"
        assert brokers[1].connections == 1
        brokers[1].stop()
        client._informant.close()  # type: ignore[union-attr]
        assert client.ask(MetadataRequest(topics=())).cluster_id == "fake"
        assert brokers[2].connections == 1


def test_no_other_broker_is_asked_where_one_takes_too_long() -> None:
    silence = Silence()
    with FakeBroker(silence) as broker:
        client = ClusterClient([broker.address, broker.address], SETTINGS)
        with pytest.raises(RequestTimedOutError) as error:
            client.ask(MetadataRequest(topics=()))
        silence.end()
    assert (error.value.address, error.value.seconds) == (broker.address, 0.3)
    assert broker.connections == 1


def test_all_brokers_have_their_turn_where_another_is_asked_each_time() -> None:
    with _cluster(3) as brokers, ClusterClient([brokers[1].address], SETTINGS) as client:
        for asked in range(1, 7):
            client.metadata()
            assert sum(broker.connections for broker in brokers.values()) == asked
            client.ask_another()
        assert [broker.connections for broker in brokers.values()] == [2, 2, 2]


def test_a_broker_that_came_back_is_connected_to_anew() -> None:
    lives = iter([1, 100])

    def die_after_a_while(stream: socket.socket) -> None:
        greet(stream)
        for _ in range(next(lives)):
            stream.sendall(metadata(receive(stream)))

    with FakeBroker(die_after_a_while) as broker, ClusterClient([broker.address], SETTINGS) as client:
        client.metadata()
        assert client.metadata().cluster_id == "fake"
        assert broker.connections == 2


def test_there_is_one_connection_to_each_broker_until_it_is_closed() -> None:
    with _cluster(2) as brokers, ClusterClient([brokers[1].address], SETTINGS) as client:
        connection = client.connection_to(2)
        assert connection.address == brokers[2].address
        assert client.connection_to(2) is connection
        connection.close()
        assert client.connection_to(2) is not connection
        assert brokers[2].connections == 2


def test_an_opened_connection_is_the_callers() -> None:
    with _cluster(1) as brokers, ClusterClient([brokers[1].address], SETTINGS) as client:
        own = client.open(1)
        assert own is not client.connection_to(1)
        client.close()
        assert not own.closed
        own.close()


def test_closing_ends_all_connections() -> None:
    with _cluster(2) as brokers, ClusterClient([brokers[1].address], SETTINGS) as client:
        connections = [client.connection_to(1), client.connection_to(2)]
        client.close()
        assert [connection.closed for connection in connections] == [True, True]
        with pytest.raises(ConnectionClosedError, match="the client of this cluster was closed"):
            client.connection_to(1)


def test_closing_wakes_a_thread_that_waits_for_metadata() -> None:
    silence = Silence()
    with FakeBroker(silence) as broker:
        client = ClusterClient([broker.address, broker.address])
        errors: list[Exception] = []

        def wait() -> None:
            try:
                client.metadata()
            except (ConnectionClosedError, NoBrokerError) as error:
                errors.append(error)

        waiting = threading.Thread(target=wait)
        waiting.start()
        assert silence.asked.wait(SECONDS)
        client.close()
        waiting.join(SECONDS)
        silence.end()
    assert not silence.kept_waiting
    assert len(errors) == 1


def test_a_broker_that_the_cluster_does_not_have() -> None:
    with (
        _cluster(2) as brokers,
        ClusterClient([brokers[1].address], SETTINGS) as client,
        pytest.raises(UnknownBrokerError, match="broker 7 is not in the cluster's metadata, which has 1, 2"),
    ):
        client.connection_to(7)
