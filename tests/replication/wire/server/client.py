"""A client that says what it likes, and a server with two APIs for it."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from logstore import TopicPartition
from replication.wire.addresses import Address
from replication.wire.client.exchange import Exchange
from replication.wire.encoding.framing import SIZE_BYTES
from replication.wire.error_code import ErrorCode
from replication.wire.messages.api_versions import ApiVersions
from replication.wire.messages.fetch import FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from replication.wire.messages.metadata import ClusterMetadata, MetadataRequest
from replication.wire.server.call import Call
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.served_api import ServedApi, ServedApis
from replication.wire.server.server import Server
from replication.wire.server.server_limits import ServerLimits

ANYWHERE = Address("127.0.0.1", 0)
ORDERS = TopicPartition("orders", 0)
VERSIONS = ApiVersions({1: range(4, 13), 3: range(4, 13)})
QUESTION = MetadataRequest(topics=())
FETCH = FetchRequest(partitions={ORDERS: FetchPartition(0, 100)})


class Client:
    """One connection."""

    def __init__(self, address: Address) -> None:
        self.socket = socket.create_connection(address, 10)
        self._exchange = Exchange("tester")
        self._exchange.versions = VERSIONS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def frame(self, request: Any) -> bytes:
        return self._exchange.ask(request)[1]

    def send(self, *requests: Any) -> None:
        self.socket.sendall(b"".join(map(self.frame, requests)))

    def receive(self) -> Any:
        size = int.from_bytes(self.received(SIZE_BYTES), "big")
        return self._exchange.answer(memoryview(self.received(size)))[1]

    def ask(self, request: Any) -> Any:
        self.send(request)
        return self.receive()

    def is_hung_up_on(self) -> bool:
        """Whether the other side closes the connection, and says nothing more."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def received(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            assert more, "the server has hung up"
            data += more
        return data


def cluster(name: str) -> ClusterMetadata:
    return ClusterMetadata(cluster_id=name, controller_id=1, brokers={}, topics={})


def by_client(_: Any, call: Call) -> ClusterMetadata:
    """Answer with who has asked."""
    return cluster(f"{call.caller.principal} {call.caller.listener}")


def fetched(records: bytes | memoryview) -> FetchResponse:
    return FetchResponse(partitions={ORDERS: FetchedPartition(ErrorCode.NONE, 1, records=records)})


def apis(fetch: Callable[[Any, Call], Any] = lambda *_: fetched(b"abc")) -> ServedApis:
    return {1: ServedApi(range(4, 13), fetch), 3: ServedApi(range(4, 13), by_client)}


@contextmanager
def serving(
    fetch: Callable[[Any, Call], Any] = lambda *_: fetched(b"abc"),
    limits: ServerLimits | None = None,
    **settings: Any,
) -> Iterator[Server]:
    with Server([ListenerSettings(address=ANYWHERE, **settings)], limits) as server:
        server.start(apis(fetch))
        yield server


def address_of(server: Server) -> Address:
    (address,) = server.addresses.values()
    return address
