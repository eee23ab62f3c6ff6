"""Connections: many, slow, silent, too many, and their end."""

import errno
import logging
import os
import random
import select
import socket
import struct
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any
from weakref import WeakSet

import pytest

from epoch.errors import InheritedError
from logstore.log.state.waiters import Waiter
from replication.wire.addresses import Address
from replication.wire.encoding.framing import SIZE_BYTES, framed
from replication.wire.errors import InvalidSettingsError
from replication.wire.server.connections.connection import Connection
from replication.wire.server.connections.listener import CannotListenError
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.server import Server
from replication.wire.server.server_limits import ServerLimits
from tests.campaign import run_seed
from tests.open_files import descriptors
from tests.replication.wire.server.client import (
    ANYWHERE,
    FETCH,
    ORDERS,
    QUESTION,
    Client,
    address_of,
    apis,
    fetched,
    serving,
)
from tests.replication.wire.test_fuzz import CHANGES

MIB = 1024 * 1024
MANY = 500
_SOMAXCONN = Path("/proc/sys/net/core/somaxconn")
ANSWERED = "User:ANONYMOUS PLAINTEXT"
CONNECTION_BYTES = 100_000
"""That one more idle connection may cost."""


def _held() -> set[tuple[str, str]]:
    """Return what this process has open but for pipes.

    A server has none, and clients of earlier tests whose brokers are gone make new ones whenever they look for them.
    """
    return {(number, target) for number, target in descriptors() if not target.startswith("pipe:")}


def _eventually(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    return holds()


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Each server ends with all of its threads and descriptors."""
    before = _held()
    yield
    assert _eventually(lambda: _held() <= before), _held() - before
    assert _eventually(lambda: not [each for each in threading.enumerate() if each.name.startswith("epochlog-")])


class Later:
    """A fetch that waits for `given`."""

    def __init__(self, seconds: float = 60.0) -> None:
        self.deadline = time.monotonic() + seconds
        self.given: Any = None
        self.attended = Event()
        self.left = Event()
        self._waiter: Waiter | None = None

    def attend(self, waiter: Waiter) -> None:
        self._waiter = waiter
        self.attended.set()

    def leave(self, waiter: Waiter) -> None:
        assert waiter is self._waiter
        self.left.set()

    def answer(self) -> Any:
        return self.given

    def expire(self) -> Any:
        return fetched(b"late")

    def give(self, answer: Any) -> None:
        self.given = answer
        assert self._waiter is not None
        self._waiter.wake()


def test_requests_that_come_together_are_answered_in_their_order() -> None:
    with serving() as server, Client(address_of(server)) as client:
        client.send(*[FETCH, QUESTION] * 20)
        for _ in range(20):
            assert client.receive().partitions[ORDERS].records == b"abc"
            assert client.receive().cluster_id == ANSWERED


def test_many_connections_are_answered_at_once() -> None:
    with serving() as server, ThreadPoolExecutor(20) as pool:

        def ask(_: int) -> str:
            with Client(address_of(server)) as client:
                return [client.ask(QUESTION).cluster_id for _ in range(10)][-1]

        assert set(pool.map(ask, range(100))) == {ANSWERED}
        assert _eventually(lambda: server.connection_count == 0)


def test_an_answer_waits_in_its_own_connection_alone_and_comes_when_it_is_there() -> None:
    later = Later()
    with serving(lambda *_: later) as server, Client(address_of(server)) as client, Client(address_of(server)) as other:
        client.send(FETCH, QUESTION)
        assert later.attended.wait(10)
        assert other.ask(QUESTION).cluster_id == ANSWERED
        later.give(fetched(b"now"))
        assert client.receive().partitions[ORDERS].records == b"now"
        assert client.receive().cluster_id == ANSWERED
        assert later.left.wait(10)


def test_an_answer_waits_no_longer_than_its_deadline() -> None:
    with serving(lambda *_: Later(0.2)) as server, Client(address_of(server)) as client:
        before = time.monotonic()
        assert client.ask(FETCH).partitions[ORDERS].records == b"late"
        assert 0.15 < time.monotonic() - before < 5


def test_a_stop_ends_requests_that_wait_readers_that_do_not_and_whoever_is_silent() -> None:
    later = Later()
    turns = iter([later, fetched(memoryview(bytes(64 * MIB)))])
    with serving(lambda *_: next(turns)) as server:
        address = address_of(server)
        with Client(address) as waiting, Client(address) as stuck, Client(address) as silent:
            waiting.send(FETCH)
            assert later.attended.wait(10)
            stuck.send(FETCH)
            stuck.socket.recv(1)
            silent.socket.sendall(b"\0\0")
            assert _eventually(lambda: server.connection_count == 3)
            before = time.monotonic()
            server.stop()
            assert time.monotonic() - before < 2
            assert server.connection_count == 0
            assert later.left.is_set()
            assert waiting.is_hung_up_on()
    with pytest.raises(ConnectionRefusedError):
        Client(address)


def test_a_reader_that_stops_holds_no_view_of_a_log_and_hurts_nobody() -> None:
    log = bytearray(32 * MIB)
    with serving(lambda *_: fetched(memoryview(log))) as server, Client(address_of(server)) as stuck:
        stuck.send(FETCH, FETCH, FETCH)
        stuck.socket.recv(1)
        assert _eventually(lambda: _is_free(log))
        with Client(address_of(server)) as other:
            assert other.ask(QUESTION).cluster_id == ANSWERED
        log += b"more"


@pytest.mark.parametrize("size", [100, 32 * MIB], ids=["idle", "reading slowly"])
def test_who_has_waited_for_an_answer_holds_no_view_of_a_log_either(size: int) -> None:
    log = bytearray(size)
    waiting: WeakSet[Later] = WeakSet()

    def wait(*_: object) -> Later:
        later = Later()
        waiting.add(later)
        return later

    with serving(wait) as server, Client(address_of(server)) as client:
        client.send(FETCH)
        assert _eventually(lambda: any(each.attended.is_set() for each in waiting))
        for each in waiting:
            each.give(fetched(memoryview(log)))
        del each
        client.socket.recv(1)
        assert _eventually(lambda: not waiting)
        assert _is_free(log)


def test_what_a_slow_reader_has_not_taken_is_let_go_of_once_it_has() -> None:
    with serving(lambda *_: fetched(bytes(64 * MIB))) as server, Client(address_of(server)) as client:
        tracemalloc.start()
        try:
            assert len(client.ask(FETCH).partitions[ORDERS].records) == 64 * MIB
            assert _eventually(lambda: tracemalloc.get_traced_memory()[0] < 8 * MIB)
        finally:
            tracemalloc.stop()


def _is_free(log: bytearray) -> bool:
    """Whether no view holds it: a log whose files are mapped is truncated in place then."""
    try:
        log.append(0)
    except BufferError:
        return False
    log.pop()
    return True


def test_what_a_slow_reader_gets_is_what_was_found_whatever_becomes_of_the_log() -> None:
    log = bytearray(os.urandom(16 * MIB))
    before = bytes(log)
    with serving(lambda *_: fetched(memoryview(log))) as server, Client(address_of(server)) as client:
        client.send(FETCH)
        assert select.select([client.socket], [], [], 10)[0]
        assert _eventually(lambda: _is_free(log))
        log[:] = bytes(len(log))
        assert client.receive().partitions[ORDERS].records == before


def test_a_slow_reader_is_not_idle() -> None:
    limits = ServerLimits(connections_max_idle_ms=1_500)
    with serving(lambda *_: fetched(bytes(24 * MIB)), limits) as server, Client(address_of(server)) as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        client.send(FETCH)
        for _ in range(10):
            client.received(MIB)
            time.sleep(0.2)
        client.received(14 * MIB)


def test_whoever_is_silent_or_stops_in_the_middle_of_a_frame_is_hung_up_on_in_time() -> None:
    limits = ServerLimits(connections_max_idle_ms=300)
    with serving(lambda *_: fetched(bytes(64 * MIB)), limits) as server:
        address = address_of(server)
        with Client(address) as silent, Client(address) as half, Client(address) as stuck:
            half.socket.sendall(half.frame(QUESTION)[:-1])
            stuck.send(FETCH)
            before = time.monotonic()
            assert silent.is_hung_up_on()
            assert half.is_hung_up_on()
            assert _eventually(lambda: server.connection_count == 0)
            assert 0.2 < time.monotonic() - before < 5


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"\x7f\xff\xff\xff", "2,147,483,647 bytes is announced"),
        (b"\xff\xff\xff\xff", "-1 bytes is announced"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", "the other side speaks TLS"),
        (b"GET / HTTP/1.1\r\n\r\n", "no Kafka client"),
        (b"\0\0\0\0", "ends after 0 bytes"),
        (b"\0\0\0\x08\x7f\xff\0\0\0\0\0\x01", "API 32767 in version 0"),
    ],
)
def test_what_is_no_request_is_hung_up_on_and_told_once(
    sent: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with serving() as server:
        for _ in range(3):
            with Client(address_of(server)) as client:
                client.socket.sendall(sent)
                assert client.is_hung_up_on()
        with Client(address_of(server)) as client:
            assert client.ask(QUESTION).cluster_id == ANSWERED
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1
    assert reason in told[0]
    assert "127.0.0.1" in told[0]


def test_random_bytes_hurt_nobody_else() -> None:
    rng = random.Random(run_seed())
    with serving() as server, Client(address_of(server)) as other:
        for _ in range(100):
            with Client(address_of(server)) as client:
                frame = bytearray(client.frame(QUESTION) * 2)
                for _ in range(rng.randint(1, 4)):
                    rng.choice(CHANGES)(frame, rng)
                client.socket.sendall(frame)
        assert other.ask(QUESTION).cluster_id == ANSWERED
        assert _eventually(lambda: server.connection_count == 1)


def test_whoever_resets_its_connection_or_goes_while_its_answer_waits_hurts_nobody() -> None:
    later = Later(0.3)
    with serving(lambda *_: later) as server:
        gone = Client(address_of(server))
        gone.send(FETCH)
        assert later.attended.wait(10)
        gone.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.socket.close()
        with Client(address_of(server)) as client:
            assert client.ask(QUESTION).cluster_id == ANSWERED
        assert _eventually(lambda: server.connection_count == 0)


def test_a_handler_that_fails_ends_its_connection_alone(caplog: pytest.LogCaptureFixture) -> None:
    with serving(lambda *_: 1 / 0) as server, Client(address_of(server)) as other:
        assert other.ask(QUESTION).cluster_id == ANSWERED
        with Client(address_of(server)) as client:
            client.send(FETCH)
            assert client.is_hung_up_on()
        assert other.ask(QUESTION).cluster_id == ANSWERED
    assert "ZeroDivisionError" in caplog.text


def test_a_request_larger_than_allowed_is_hung_up_on() -> None:
    with serving(limits=ServerLimits(socket_request_max_bytes=20)) as server, Client(address_of(server)) as client:
        client.send(QUESTION)
        assert client.is_hung_up_on()


def test_more_connections_than_allowed_wait_until_one_has_ended() -> None:
    with serving(limits=ServerLimits(max_connections=1)) as server, Client(address_of(server)) as first:
        assert first.ask(QUESTION).cluster_id == ANSWERED
        with Client(address_of(server)) as second:
            second.send(QUESTION)
            second.socket.settimeout(0.2)
            with pytest.raises(TimeoutError):
                second.receive()
            first.socket.close()
            second.socket.settimeout(10)
            assert second.receive().cluster_id == ANSWERED


def test_connections_count_over_all_listeners_and_only_brokers_get_in_all_the_same() -> None:
    others = [ListenerSettings(name=name, address=ANYWHERE) for name in ("A", "B")]
    brokers = ListenerSettings(name="BROKERS", address=ANYWHERE, is_for_brokers=True)
    with Server([*others, brokers], ServerLimits(max_connections=1)) as server:
        server.start(apis())
        with Client(server.addresses["A"]) as first:
            assert first.ask(QUESTION).cluster_id == "User:ANONYMOUS A"
            with Client(server.addresses["B"]) as second:
                second.send(QUESTION)
                second.socket.settimeout(0.2)
                with pytest.raises(TimeoutError):
                    second.receive()
                with Client(server.addresses["BROKERS"]) as broker:
                    assert broker.ask(QUESTION).cluster_id == "User:ANONYMOUS BROKERS"
                    assert server.connection_counts == {"A": 1, "B": 0, "BROKERS": 1}
                first.socket.close()
                second.socket.settimeout(10)
                assert second.receive().cluster_id == "User:ANONYMOUS B"


def test_more_connections_than_allowed_from_one_address_are_closed(caplog: pytest.LogCaptureFixture) -> None:
    with serving(limits=ServerLimits(max_connections_per_ip=1)) as server, Client(address_of(server)) as first:
        assert first.ask(QUESTION).cluster_id == ANSWERED
        for _ in range(3):
            with Client(address_of(server)) as second:
                assert second.is_hung_up_on()
        first.socket.close()
        assert _eventually(lambda: server.connection_count == 0)
        with Client(address_of(server)) as third:
            assert third.ask(QUESTION).cluster_id == ANSWERED
    assert caplog.text.count("max.connections.per.ip") == 1


def test_requests_beyond_the_memory_for_them_wait_until_others_are_answered() -> None:
    limits = ServerLimits(queued_max_request_bytes=10)
    with serving(limits=limits) as server, Client(address_of(server)) as first, Client(address_of(server)) as second:
        frame = first.frame(QUESTION)
        first.socket.sendall(frame[:10])
        time.sleep(0.2)
        second.send(QUESTION)
        second.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            second.receive()
        first.socket.sendall(frame[10:])
        assert first.receive().cluster_id == ANSWERED
        second.socket.settimeout(10)
        assert second.receive().cluster_id == ANSWERED


def test_memory_of_requests_is_free_again_once_their_connection_has_ended() -> None:
    limits = ServerLimits(queued_max_request_bytes=10)
    with serving(limits=limits) as server:
        for _ in range(5):
            with Client(address_of(server)) as half:
                half.socket.sendall(half.frame(QUESTION)[:10])
        with Client(address_of(server)) as client:
            assert client.ask(QUESTION).cluster_id == ANSWERED


def test_a_stop_ends_those_that_wait_for_memory_or_for_room() -> None:
    limits = ServerLimits(queued_max_request_bytes=10, max_connections=2)
    with serving(limits=limits) as server:
        address = address_of(server)
        with Client(address) as first, Client(address) as second, Client(address):
            first.socket.sendall(first.frame(QUESTION)[:10])
            time.sleep(0.1)
            second.send(QUESTION)
            time.sleep(0.1)
            before = time.monotonic()
            server.stop()
            assert time.monotonic() - before < 2


@pytest.mark.parametrize("limit", ["socket_request_max_bytes", "max_connections", "queued_max_request_bytes"])
def test_what_is_no_limit_is_refused(limit: str) -> None:
    with pytest.raises(InvalidSettingsError, match=limit.replace("_", r"\.")):
        ServerLimits(**{limit: -2})


def test_one_more_idle_connection_costs_little() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    with serving() as server:
        clients: list[Client] = []
        resident_bytes = []
        for count in (20, 200):
            while len(clients) < count:
                clients.append(Client(address_of(server)))
                assert clients[-1].ask(QUESTION).cluster_id == ANSWERED
            resident_bytes.append(resident())
        for client in clients:
            client.socket.close()
    assert (resident_bytes[1] - resident_bytes[0]) / 180 < CONNECTION_BYTES


@pytest.mark.parametrize("size", [MIB, 3 * MIB])
def test_what_a_large_request_took_is_free_once_its_connection_is_idle(size: int) -> None:
    tracemalloc.start()
    try:
        with serving() as server, ExitStack() as stack:
            for _ in range(10):
                client = stack.enter_context(Client(address_of(server)))
                request = client.frame(QUESTION)[SIZE_BYTES:] + bytes(size)  # more may follow a request
                for _ in range(2):
                    client.socket.sendall(framed(request))
                    size_of_answer = int.from_bytes(client.received(SIZE_BYTES), "big")
                    assert len(client.received(size_of_answer)) == size_of_answer
            del request
            assert _eventually(lambda: tracemalloc.get_traced_memory()[0] < MIB)
    finally:
        tracemalloc.stop()


def test_a_port_that_is_taken_is_named_and_nothing_stays_open() -> None:
    with Server([ListenerSettings(address=ANYWHERE)]) as server:
        taken = address_of(server)
        with pytest.raises(CannotListenError, match=f"{taken}: cannot listen: Address already in use"):
            Server([ListenerSettings(name="A", address=ANYWHERE), ListenerSettings(name="B", address=taken)])


def test_clients_wait_until_the_server_is_started() -> None:
    with Server([ListenerSettings(address=ANYWHERE)]) as server, Client(address_of(server)) as client:
        assert client.socket.getpeername() == address_of(server)


@pytest.mark.skipif(int(_SOMAXCONN.read_text()) < MANY, reason="the machine keeps fewer connections")
def test_hundreds_that_connect_at_once_find_room() -> None:
    server = Server([ListenerSettings(address=ANYWHERE)])
    address = address_of(server)
    # Whoever finds none tries again a second later.
    connected = [socket.create_connection(address, 0.9) for _ in range(MANY)]
    with server:
        server.start(apis())
        for each in connected:
            each.close()


def test_listeners_are_told_apart_by_their_names() -> None:
    listeners = [ListenerSettings(name=name, address=Address("127.0.0.1", 0)) for name in ("INSIDE", "OUTSIDE")]
    with Server(listeners) as server:
        server.start(apis())
        for name in ("INSIDE", "OUTSIDE"):
            with Client(server.addresses[name]) as client:
                assert client.ask(QUESTION).cluster_id == f"User:ANONYMOUS {name}"


class OutOfDescriptors(socket.socket):
    """A socket that accepts nothing for a while."""

    failures = 2

    def accept(self) -> Any:
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def test_a_lack_of_descriptors_ends_no_listener_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    with Server([ListenerSettings(address=ANYWHERE)]) as server:
        (listener,) = server._listeners.values()
        failing = OutOfDescriptors(fileno=listener._socket.detach())
        vars(listener)["_socket"] = failing
        server.start(apis())
        before = time.monotonic()
        with Client(address_of(server)) as client:
            assert client.ask(QUESTION).cluster_id == ANSWERED
        assert failing.failures == 0
        assert time.monotonic() - before > 1.5
    assert caplog.text.count("accepts no connection for now") == 1


def test_in_a_forked_process_a_server_lets_go_of_its_port_and_does_no_more() -> None:
    with Server([ListenerSettings(address=ANYWHERE)]) as server:
        address = address_of(server)
        server.detach()
        with pytest.raises(ConnectionRefusedError):
            Client(address)
        with pytest.raises(InheritedError, match=str(address)):
            server.start({})


def test_a_client_that_goes_while_its_answer_waits_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replication.wire.server.connections.connection._LOOK_SECONDS", 0.05)
    with (
        serving(lambda *_: Later()) as server,
        Client(address_of(server)) as stays,
        Client(address_of(server)) as goes,
    ):
        stays.send(FETCH)
        goes.send(FETCH)
        assert _eventually(lambda: server.connection_count == 2)
        goes.socket.close()
        assert _eventually(lambda: server.connection_count == 1)
        time.sleep(0.2)
        assert server.connection_count == 1


def _threads_of_connections() -> int:
    return sum(
        thread.name.startswith("epochlog-PLAINTEXT-127") for thread in threading.enumerate() if thread.is_alive()
    )


def test_connections_to_which_nothing_comes_have_no_threads_and_are_answered_whenever_they_ask() -> None:
    with serving() as server, ExitStack() as stack:
        clients = [stack.enter_context(Client(address_of(server))) for _ in range(50)]
        assert _eventually(lambda: server.connection_count == 50)
        assert _threads_of_connections() == 0
        for _ in range(2):
            for client in clients:
                assert client.ask(QUESTION).cluster_id == ANSWERED
            assert _eventually(lambda: _threads_of_connections() == 0)


def test_connections_that_end_while_nothing_comes_wake_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[Connection] = []
    wake = Connection.wake

    def noted(connection: Connection, begun: Callable[[], None]) -> None:
        woken.append(connection)
        wake(connection, begun)

    monkeypatch.setattr(Connection, "wake", noted)
    with serving() as server:
        clients = [Client(address_of(server)) for _ in range(300)]
        assert _eventually(lambda: server.connection_count == 300)
        for client in clients:
            client.socket.close()
        assert _eventually(lambda: server.connection_count == 0)
        assert not woken


def test_few_connections_are_woken_at_once_however_many_ask_together() -> None:
    answering, most = 0, 0
    lock = threading.Lock()

    def slowly(*_: Any) -> Any:
        nonlocal answering, most
        with lock:
            answering += 1
            most = max(most, answering)
        time.sleep(0.002)
        with lock:
            answering -= 1
        return fetched(b"abc")

    with serving(slowly) as server, ExitStack() as stack:
        clients = [stack.enter_context(Client(address_of(server))) for _ in range(200)]
        for client in clients:
            client.send(FETCH)
        for client in clients:
            assert client.receive().partitions[ORDERS].records == b"abc"
    assert most < 100
