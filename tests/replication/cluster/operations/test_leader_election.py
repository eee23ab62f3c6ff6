"""Elections are asked for until somebody answers, and no longer than they may take."""

import socket
from collections.abc import Callable
from threading import Event
from typing import NoReturn

import pytest

from logstore import TopicPartition
from replication.cluster.operations.leader_election import TIMED_OUT, bootstrap_addresses, hold_elections
from replication.cluster.operations.tool_error import ToolError
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.error_code import ErrorCode
from replication.wire.messages import elect_leaders
from replication.wire.messages.elect_leaders import ElectionResult, ElectionType, ElectLeadersRequest
from tests.oracle.cluster import free_port
from tests.replication.cluster.operations.electing_broker import ElectingBroker
from tests.replication.wire.fake_broker import SECONDS, FakeBroker, greet, metadata, receive, versions

ORDERS = TopicPartition("orders", 0)
DONE = {ORDERS: ElectionResult(ErrorCode.NONE)}
SETTINGS = ClientSettings(request_timeout_ms=300)


def request(timeout_ms: int) -> ElectLeadersRequest:
    return ElectLeadersRequest(election_type=ElectionType.PREFERRED, partitions=(ORDERS,), timeout_ms=timeout_ms)


class Restarting(ElectingBroker):
    """Says goodbye to who comes first, in the midst of what they ask."""

    def __init__(self, times: int, goodbye: Callable[[socket.socket], None]) -> None:
        super().__init__(DONE)
        self._times = times
        self._goodbye = goodbye

    def _serve_all(self, stream: socket.socket) -> None:
        if self.connections <= self._times:
            self._goodbye(stream)
        else:
            super()._serve_all(stream)


class Former(ElectingBroker):
    """Still believes to be the whole cluster, and elects nobody."""

    def _answer(self, version: int) -> NoReturn:
        raise EOFError(f"version {version} is not answered")


class Slow(ElectingBroker):
    """Does not answer the first who asks until it is woken."""

    def __init__(self) -> None:
        super().__init__(DONE)
        self.woken = Event()

    def _answer(self, version: int) -> object:
        if len(self.asked) == 1:
            self.woken.wait(SECONDS)
        return super()._answer(version)


def knows_no_controller(stream: socket.socket) -> None:
    greet(stream)
    stream.sendall(metadata(receive(stream)))


@pytest.mark.parametrize("goodbye", [lambda _: None, greet, knows_no_controller], ids=["at once", "greeted", "told"])
def test_a_broker_that_restarts_is_asked_again(goodbye: Callable[[socket.socket], None]) -> None:
    with Restarting(2, goodbye) as broker:
        answered = hold_elections([broker.address], SETTINGS, request(20_000), pause=lambda _: None)
    assert answered.results == DONE
    assert [asked.partitions for asked in broker.asked] == [(ORDERS,)]


def test_others_are_asked_where_one_does_not_answer() -> None:
    with ElectingBroker(DONE) as broker:
        nobody = Address("127.0.0.1", free_port())
        assert hold_elections([nobody, broker.address], SETTINGS, request(20_000)).results == DONE


def test_another_is_asked_who_the_controller_is_once_that_does_not_answer() -> None:
    with Former(DONE) as former, ElectingBroker(DONE) as broker:
        addresses = [former.address, broker.address]
        answered = hold_elections(addresses, SETTINGS, request(20_000), pause=lambda _: None)
    assert answered.results == DONE
    assert len(former.asked) == len(broker.asked) == 1


def test_an_answer_that_does_not_come_in_time_is_asked_for_again() -> None:
    with Slow() as broker:
        assert hold_elections([broker.address], SETTINGS, request(10_000), pause=lambda _: None).results == DONE
        broker.woken.set()
    assert len(broker.asked) == 2


def test_it_is_asked_no_longer_than_it_may_take() -> None:
    pauses: list[float] = []
    with pytest.raises(ToolError) as given_up:
        hold_elections([Address("127.0.0.1", free_port())], SETTINGS, request(250), pause=pauses.append)
    assert given_up.value.message == TIMED_OUT
    assert given_up.value.on_output_too
    assert "refused" in given_up.value.reason
    assert pauses


def hangs_up(stream: socket.socket) -> None:
    greet(stream)
    receive(stream)


@pytest.mark.parametrize("goodbye", [lambda _: None, greet, hangs_up], ids=["at once", "greeted", "asked"])
def test_a_broker_that_hangs_up_is_asked_less_and_less(goodbye: Callable[[socket.socket], None]) -> None:
    pauses: list[float] = []
    with Restarting(8, goodbye) as broker:
        answered = hold_elections([broker.address], SETTINGS, request(600_000), pause=pauses.append)
    assert answered.results == DONE
    jitter = 0.2
    usual = [0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0, 1.0]
    assert len(pauses) >= 4
    assert all(abs(pause - wanted) <= jitter * wanted for pause, wanted in zip(pauses, usual, strict=False)), pauses
    assert broker.connections <= 2 * (len(pauses) + 1), "nor between two attempts"


def test_what_will_not_become_better_is_not_asked_again() -> None:
    with ElectingBroker({}, ErrorCode.NOT_CONTROLLER) as broker:
        with pytest.raises(ToolError, match="NOT_CONTROLLER: This is not the correct controller"):
            hold_elections([broker.address], SETTINGS, request(20_000))
        assert len(broker.asked) == 1


def test_a_controllers_listener_is_told_from_a_brokers() -> None:
    def answers_no_metadata(stream: socket.socket) -> None:
        stream.sendall(versions(receive(stream), {elect_leaders.API_KEY: elect_leaders.VERSIONS}))
        stream.recv(1)

    with FakeBroker(answers_no_metadata) as controller, pytest.raises(ToolError) as refused:
        hold_elections([controller.address], SETTINGS, request(20_000))
    assert refused.value.message == "UNSUPPORTED_VERSION: The node does not support METADATA"
    assert str(controller.address) in refused.value.reason
    assert "use brokers' addresses" in refused.value.reason


@pytest.mark.parametrize("text", ["nowhere", "localhost:99999", "nobody.invalid:9092", "http://localhost:9092"])
def test_addresses_that_cannot_be(text: str) -> None:
    with pytest.raises(ToolError) as refused:
        bootstrap_addresses(text)
    assert refused.value.message == "Failed to create an admin client"
    assert text in refused.value.reason


def test_one_known_host_is_enough() -> None:
    assert len(bootstrap_addresses("nobody.invalid:1,127.0.0.1:2")) == 2
