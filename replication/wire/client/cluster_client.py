"""A cluster of brokers, found through any of them."""

from collections.abc import Callable, Iterable, Iterator
from threading import RLock
from types import TracebackType
from typing import Final, Self, TypeVar

from replication.wire.addresses import Address, parse_addresses
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.errors import (
    ConnectionClosedError,
    ConnectionFailedError,
    MalformedResponseError,
    NoBrokerError,
    RequestTimedOutError,
    UnknownBrokerError,
    raise_for,
)
from replication.wire.messages.metadata import Broker, ClusterMetadata, MetadataRequest
from replication.wire.messages.request import Request

AnswerT = TypeVar("AnswerT")

_DEFAULT: Final = ClientSettings()
_CANNOT_ANSWER: Final = (ConnectionClosedError, ConnectionFailedError, MalformedResponseError)
_TRY_ANOTHER: Final = (*_CANNOT_ANSWER, RequestTimedOutError)
"""Errors that another broker may not have; all refuse the same password."""


class ClusterClient:
    """Gets metadata from any broker, and keeps one connection to each requested broker. Thread-safe."""

    def __init__(self, bootstrap: str | Iterable[Address], settings: ClientSettings = _DEFAULT) -> None:
        """Connect later: `bootstrap` names the brokers to try first (Kafka: bootstrap.servers)."""
        self.settings = settings
        self._bootstrap = parse_addresses(bootstrap) if isinstance(bootstrap, str) else tuple(bootstrap)
        self._brokers: dict[int, Broker] = {}
        self._connections: dict[int, Connection] = {}
        self._informant: Connection | None = None
        self._passed_over: Address | None = None
        self._worked: set[Address] = set()
        """Where a connection has worked."""
        self._closed = False
        self._used = RLock()

    def metadata(self, topics: Iterable[str] | None = ()) -> ClusterMetadata:
        """Return the metadata of these topics; None: of all; by default only of the brokers.

        Tries the broker that answered last, then the brokers that it named, then the bootstrap addresses. If none
        answers, raises NoBrokerError, which names them all.
        """
        with self._used:
            metadata = self._ask_any(MetadataRequest(topics=None if topics is None else tuple(topics)), _TRY_ANOTHER)
            raise_for(metadata.error, f"{self._informant and self._informant.address}: Metadata")
            self._brokers = dict(metadata.brokers)
            return metadata

    def ask(self, request: Request[AnswerT]) -> AnswerT:
        """Send a request to any broker, in the order of `metadata`.

        If one takes too long, raises RequestTimedOutError and tries no other: each may wait for the controller.
        """
        with self._used:
            return self._ask_any(request, _CANNOT_ANSWER)

    def ask_another(self) -> None:
        """Use another broker for the next metadata request: the last one may not know of a change yet."""
        with self._used:
            if self._informant is not None:
                self._passed_over = self._informant.address
                self._informant.close()

    def connection_to(self, broker_id: int) -> Connection:
        """Return the connection to a broker, reconnecting if it was closed. Raises UnknownBrokerError."""
        with self._used:
            connection = self._connections.get(broker_id)
            if connection is None or connection.closed:
                connection = self._connections[broker_id] = self.open(broker_id)
            return connection

    def open(self, broker_id: int) -> Connection:
        """Return a new connection to a broker, which the caller must close."""
        self._refuse_closed()
        with self._used:
            if broker_id not in self._brokers:
                self.metadata()
            broker = self._brokers.get(broker_id)
            if broker is None:
                raise UnknownBrokerError(broker_id, self._brokers)
        return self._open(Address(broker.host, broker.port))

    def close(self) -> None:
        """Close it and all connections that `connection_to` returned, even while a thread waits for a response."""
        self._closed = True
        for connection in [*self._connections.values(), self._informant]:
            if connection is not None:
                connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask_any(self, request: Request[AnswerT], not_answered: tuple[type[Exception], ...]) -> AnswerT:
        errors: dict[object, Exception] = {}
        for informant in self._informants(errors):
            try:
                answer = informant.ask(request)
            except not_answered as error:
                errors[informant.address] = error
            else:
                self._worked.add(informant.address)
                return answer
        raise NoBrokerError(errors)

    def _informants(self, errors: dict[object, Exception]) -> Iterator[Connection]:
        """Connect to one broker after the other, the connected one first; put down who does not answer."""
        if self._informant is not None and not self._informant.closed:
            yield self._informant
        known = [Address(broker.host, broker.port) for broker in self._brokers.values()]
        for address in _beginning_after(self._passed_over, [*dict.fromkeys([*known, *self._bootstrap])]):
            self._refuse_closed()
            try:
                self._informant = self._open(address, self._begin_asking)
            except _TRY_ANOTHER as error:
                errors[address] = error
            else:
                yield self._informant

    def _begin_asking(self, connection: Connection) -> None:
        """Allow `close` to break off the handshake."""
        self._informant = connection
        self._refuse_closed()

    def _open(self, address: Address, made: Callable[[Connection], object] = lambda _: None) -> Connection:
        return Connection.open(address, self.settings, has_worked=address in self._worked, made=made)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise ConnectionClosedError(", ".join(map(str, self._bootstrap)), "the client of this cluster was closed")


def _beginning_after(address: Address | None, addresses: list[Address]) -> list[Address]:
    """Return the addresses in their order, but those after this one first."""
    start = addresses.index(address) + 1 if address in addresses else 0
    return addresses[start:] + addresses[:start]
