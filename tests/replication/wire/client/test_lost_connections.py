"""A connection that worked and is lost is told as that; settings are doubted only where none has worked."""

import socket
import ssl
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.client.connection import Connection
from replication.wire.client.security import TlsSettings
from replication.wire.errors import (
    ConnectionClosedError,
    ConnectionFailedError,
    NoBrokerError,
    RequestTimedOutError,
)
from replication.wire.messages.metadata import MetadataRequest
from tests.replication.wire.certificates import Authority
from tests.replication.wire.fake_broker import FakeBroker, Script, Silence, greet, metadata, receive

ALL = MetadataRequest(topics=None)
DOUBTS = ("TLS", "authentication", "certificate")

End = Callable[[socket.socket], None]


class Protection:
    """What a broker does with a connection before it speaks, and what a client needs for it."""

    def __init__(self, directory: Path, *, tls: bool) -> None:
        self._context: ssl.SSLContext | None = None
        self.settings = ClientSettings(request_timeout_ms=5_000)
        if tls:
            authority = Authority(directory, "authority")
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(authority.issue("broker", "127.0.0.1").both)
            self.settings = ClientSettings(request_timeout_ms=5_000, tls=TlsSettings(ca=authority.certificate))

    def then(self, speak: Script) -> Script:
        def script(stream: socket.socket) -> None:
            if self._context is None:
                speak(stream)
                return
            with self._context.wrap_socket(stream, server_side=True) as secured:
                speak(secured)

        return script


def close(stream: socket.socket) -> None:
    """End the stream of bytes, as the system does for a process that was killed."""
    socket.socket.shutdown(stream, socket.SHUT_RDWR)


def reset(stream: socket.socket) -> None:
    """Send a RST, as the system does where bytes were not read."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    socket.close(stream.detach())


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
def protection(tmp_path: Path, request: pytest.FixtureRequest) -> Protection:
    return Protection(tmp_path, tls=request.param)


def without_doubts(error: BaseException) -> bool:
    return not any(doubt in str(error) for doubt in DOUBTS)


@pytest.mark.parametrize("end", [close, reset])
def test_a_connection_that_has_answered_and_ends_is_lost(protection: Protection, end: End) -> None:
    def answer_once(stream: socket.socket) -> None:
        greet(stream)
        stream.sendall(metadata(receive(stream)))
        receive(stream)
        end(stream)

    with (
        FakeBroker(protection.then(answer_once)) as broker,
        Connection.open(broker.address, protection.settings) as connection,
    ):
        connection.ask(ALL)
        with pytest.raises(ConnectionClosedError, match=rf"^{broker.address}: connection lost: ") as lost:
            connection.ask(ALL)
    assert without_doubts(lost.value)


def test_one_that_ends_before_anything_but_the_versions_was_answered_may_lack_authentication(
    protection: Protection,
) -> None:
    def greet_only(stream: socket.socket) -> None:
        greet(stream)
        receive(stream)
        close(stream)

    with (
        FakeBroker(protection.then(greet_only)) as broker,
        Connection.open(broker.address, protection.settings) as connection,
        pytest.raises(ConnectionClosedError, match=r"the listener may expect authentication$"),
    ):
        connection.ask(ALL)


def test_one_that_never_answered_is_doubted_by_what_protects_it(protection: Protection) -> None:
    def hang_up(stream: socket.socket) -> None:
        receive(stream)
        close(stream)

    doubt = "or not trust our certificate$" if protection.settings.tls else "may expect TLS or authentication$"
    with FakeBroker(protection.then(hang_up)) as broker, pytest.raises(ConnectionClosedError, match=doubt):
        Connection.open(broker.address, protection.settings)


@pytest.mark.parametrize("end", [close, reset])
def test_a_broker_that_worked_and_then_hangs_up_on_each_new_connection_is_not_doubted(
    protection: Protection, end: End
) -> None:
    calls: list[socket.socket] = []
    answer = protection.then(lambda stream: (greet(stream), stream.sendall(metadata(receive(stream))), None)[-1])

    def once(stream: socket.socket) -> None:
        calls.append(stream)
        if len(calls) == 1:
            answer(stream)
        else:
            end(stream)

    with FakeBroker(once) as broker, ClusterClient([broker.address], protection.settings) as client:
        client.metadata()
        for _ in range(2):
            with pytest.raises(NoBrokerError, match=r"connection lost|it has worked before") as gone:
                client.metadata()
            told = str(gone.value).replace("the TLS handshake", "the handshake")
            assert not any(doubt in told for doubt in DOUBTS)


def test_a_broker_that_hangs_up_in_the_first_tls_handshake_is_doubted(tmp_path: Path) -> None:
    protection = Protection(tmp_path, tls=True)
    with FakeBroker(close) as broker, pytest.raises(ConnectionFailedError, match="does this listener speak TLS"):
        Connection.open(broker.address, protection.settings)


def test_a_broker_that_worked_and_hangs_is_not_doubted_either() -> None:
    silence = Silence()

    def answer_then_hang(stream: socket.socket) -> None:
        greet(stream)
        stream.sendall(metadata(receive(stream)))
        silence.wait(stream)

    with FakeBroker(answer_then_hang) as broker, Connection.open(broker.address) as connection:
        connection.ask(ALL)
        with pytest.raises(RequestTimedOutError, match="it has worked before") as late:
            connection.ask(ALL, timeout_ms=100)
        silence.end()
    assert without_doubts(late.value)
