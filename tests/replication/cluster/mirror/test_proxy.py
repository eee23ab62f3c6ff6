"""The proxy does to connections what it is told."""

import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from threading import Thread

import pytest

from tests.replication.cluster.mirror.proxy import Proxy


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """In front of a server that sends back what it gets."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    Thread(target=echo, args=(client,), daemon=True).start()

        Thread(target=serve, daemon=True).start()
        with Proxy("127.0.0.1", listener.getsockname()[1]) as proxy:
            yield proxy
        listener.shutdown(socket.SHUT_RDWR)


def echo(client: socket.socket) -> None:
    with client, suppress(OSError):
        while data := client.recv(65_536):
            client.sendall(data)


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=10)


def received(client: socket.socket, size: int) -> bytes:
    data = b""
    with suppress(ConnectionError):
        while len(data) < size and (more := client.recv(size - len(data))):
            data += more
    return data


def test_bytes_pass_both_ways(proxy: Proxy) -> None:
    with connect(proxy) as client:
        client.sendall(b"x" * 200_000)
        assert received(client, 200_000) == b"x" * 200_000


def test_a_torn_connection_ends_after_so_many_bytes_and_the_next_is_whole(proxy: Proxy) -> None:
    proxy.tear(after=70_000)
    with connect(proxy) as client:
        client.sendall(b"x" * 200_000)
        assert len(received(client, 200_000)) == 70_000
    with connect(proxy) as client:
        client.sendall(b"y" * 100_000)
        assert received(client, 100_000) == b"y" * 100_000


def test_a_cut_ends_all_connections(proxy: Proxy) -> None:
    with connect(proxy) as one, connect(proxy) as other:
        for client in (one, other):
            client.sendall(b"x")
            assert received(client, 1) == b"x"
        proxy.cut()
        assert [received(one, 1), received(other, 1)] == [b"", b""]


def test_a_slow_connection_takes_its_time(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(proxy, "_sleep", slept.append)
    proxy.slow(20_000)
    with connect(proxy) as client:
        client.sendall(b"x" * 10_000)
        assert len(received(client, 10_000)) == 10_000
    assert sum(slept) == pytest.approx(0.5)


def test_refused_connections_end_at_once(proxy: Proxy) -> None:
    proxy.refuse(refuses=True)
    with connect(proxy) as client:
        assert received(client, 1) == b""
    proxy.refuse(refuses=False)
    with connect(proxy) as client:
        client.sendall(b"x")
        assert received(client, 1) == b"x"
