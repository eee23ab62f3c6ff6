"""A connection to one broker: the thin, blocking shell around `Exchange`."""

import os
import socket
import ssl
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import RLock
from types import TracebackType
from typing import Any, Final, Self, TypeVar, overload

from replication.wire.addresses import Address, parse_address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.deadline import Deadline
from replication.wire.client.exchange import Exchange
from replication.wire.client.handshake import shake_hands
from replication.wire.client.oauth import OAuthSettings
from replication.wire.client.stream import open_stream, tls_error
from replication.wire.encoding.framing import FrameReader
from replication.wire.encoding.kio_messages import RequestPayload
from replication.wire.errors import (
    AuthenticationFailedError,
    ConnectionClosedError,
    MalformedResponseError,
    RequestTimedOutError,
    UnsupportedVersionError,
)
from replication.wire.messages.api_versions import ApiVersions
from replication.wire.messages.request import Request

AnswerT = TypeVar("AnswerT")

_DEFAULT: Final = ClientSettings()


class Connection:
    """Sends requests to a broker, and receives its responses in order. Not thread-safe; but any thread may close it.

    with Connection.open("broker1:9092") as connection:
        connection.ask(MetadataRequest(topics=None))

    A request is one of ours, with our response, or any of kio's, with kio's response. Ours use the highest version
    that both sides support and that can express the request.
    """

    def __init__(
        self, address: Address, stream: socket.socket, settings: ClientSettings, *, has_worked: bool = False
    ) -> None:
        """Use `open`."""
        self.address = address
        self.has_worked = has_worked
        """Whether this listener has accepted us, now or before: then it is no matter of settings if it hangs up."""
        self._stream = stream
        self._settings = settings
        self._exchange = Exchange(settings.client_id)
        self._frames = FrameReader(settings.max_response_bytes)
        self._early: deque[tuple[int, Any]] = deque()
        self._closed = False
        self._owner = os.getpid()
        self._used = RLock()

    @classmethod
    def open(
        cls,
        address: Address | str,
        settings: ClientSettings = _DEFAULT,
        *,
        has_worked: bool = False,
        made: Callable[[Self], object] = lambda _: None,
    ) -> Self:
        """Connect, learn the broker's versions, and authenticate if the settings say so.

        `has_worked` says that an earlier connection to this address with these settings did. `made` is called once it
        is connected: whoever closes the connection from then on breaks off what is awaited.
        ConnectionFailedError, CertificateRefusedError, AuthenticationFailedError, ConnectionClosedError,
        RequestTimedOutError, MalformedResponseError and UnsupportedVersionError say what is wrong, and where.
        """
        address = parse_address(address) if isinstance(address, str) else address
        stream = open_stream(address, settings, has_worked=has_worked)
        try:
            connection = cls(address, stream, settings, has_worked=has_worked)
        except BaseException:
            stream.close()
            raise
        try:
            made(connection)
            connection._shake_hands()
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def versions(self) -> ApiVersions:
        """The API versions that the broker supports."""
        assert self._exchange.versions is not None  # noqa: S101 - open() has set it
        return self._exchange.versions

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._closed

    @overload
    def ask(self, request: Request[AnswerT], timeout_ms: int | None = None) -> AnswerT: ...
    @overload
    def ask(self, request: RequestPayload, timeout_ms: int | None = None) -> Any: ...
    def ask(self, request: Request[Any] | RequestPayload, timeout_ms: int | None = None) -> Any:
        """Send a request and return its response; close the connection if it is late (Kafka: request.timeout.ms)."""
        correlation_id = self.send(request)
        deadline = Deadline(self._timeout(timeout_ms))
        try:
            answered, answer = self._receive(deadline)
            while answered != correlation_id:
                self._early.append((answered, answer))
                answered, answer = self._receive(deadline)
        except BaseException:
            self.close()
            raise
        return answer

    def send(self, request: Request[Any] | RequestPayload) -> int:
        """Send a request and return its correlation id, without waiting for the response."""
        with self._used:
            self._refuse_closed()
            correlation_id, frame = self._framed(request)
            try:
                self._stream.settimeout(self._timeout(None))
                self._stream.sendall(frame)
            except OSError as error:
                lost = self._translated(error, self._timeout(None))  # before it is closed on this side too
                self.close()
                raise lost from error
        return correlation_id

    def receive(self, timeout_ms: int | None = None) -> tuple[int, Any]:
        """Return the next response and its request's correlation id.

        Raises RequestTimedOutError if it is late; it may be called again then. Other errors close the connection.
        """
        if self._early:
            return self._early.popleft()
        try:
            return self._receive(Deadline(self._timeout(timeout_ms)))
        except RequestTimedOutError:
            raise
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close it, even while another thread waits for a response: that gets a ConnectionClosedError.

        A forked process only closes its own descriptor.
        """
        self._closed = True
        if self._owner != os.getpid():
            self._stream.close()
            return
        with suppress(OSError):
            # Not SSLSocket's, which would have the waiting thread read on without decryption.
            socket.socket.shutdown(self._stream, socket.SHUT_RDWR)
        with self._used:
            self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _shake_hands(self) -> None:
        """Drive the handshake: its requests out, their answers in."""
        sasl = self._settings.sasl
        steps = shake_hands(sasl.login() if isinstance(sasl, OAuthSettings) else sasl)
        try:
            request = next(steps)
            while True:
                request = steps.send(self.ask(request))
        except StopIteration as end:
            self._exchange.versions = end.value
            # Without SASL nobody has looked yet at who we are: a broker answers that question to anybody.
            self.has_worked = self.has_worked or self._settings.sasl is not None
        except AuthenticationFailedError as error:
            raise AuthenticationFailedError(error.reason, error.advice, self.address) from None

    def _framed(self, request: Request[Any] | RequestPayload) -> tuple[int, bytes]:
        try:
            return self._exchange.ask(request)
        except UnsupportedVersionError as error:
            raise UnsupportedVersionError(error.api, error.ours, error.theirs, self.address) from None

    def _receive(self, deadline: Deadline) -> tuple[int, Any]:
        with self._used:
            if not self._exchange.in_flight:
                raise ValueError(f"{self.address}: there is no response to wait for: no request was sent")
            try:
                frame = None
                while frame is None:
                    frame = self._frames.received(self._fill(self._frames.wanted(), deadline))
                answer = self._exchange.answer(frame)
            except MalformedResponseError as error:
                raise MalformedResponseError(f"{self.address}: {error}") from error
            # Answers come before that too, but only to the handshake.
            self.has_worked = self.has_worked or self._exchange.versions is not None
            return answer

    def _fill(self, room: memoryview, deadline: Deadline) -> int:
        """Receive at least one byte."""
        self._refuse_closed()
        try:
            self._stream.settimeout(deadline.left())
            count = self._stream.recv_into(room)
        except OSError as error:
            raise self._translated(error, deadline.seconds) from error
        if count == 0:
            raise self._ended()
        return count

    def _translated(self, error: OSError, seconds: float) -> Exception:
        """Return our error for the system's."""
        if self._closed:
            return self._ended()
        if isinstance(error, TimeoutError | BlockingIOError | ssl.SSLWantReadError):
            return RequestTimedOutError(self.address, self._exchange.in_flight[0], seconds, has_worked=self.has_worked)
        if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            return self._ended()
        if isinstance(error, ssl.SSLError):
            return tls_error(self.address, error, has_worked=self.has_worked)
        return ConnectionClosedError(self.address, f"connection lost: {error.strerror or error}")

    def _ended(self) -> ConnectionClosedError:
        if self._closed:
            return ConnectionClosedError(self.address, "the connection was closed on this side")
        asked = ", ".join(self._exchange.in_flight[:1]) or "anything"
        told = f"connection lost: the broker closed it before it answered {asked}"
        return ConnectionClosedError(self.address, told if self.has_worked else f"{told}; {self._doubt()}")

    def _doubt(self) -> str:
        """Return what may be wrong with the settings where no connection has worked."""
        if self._exchange.versions is not None:
            return "if it always does, the listener may expect authentication"
        if self._settings.tls is not None:
            return "if it always does, the listener may expect authentication, or not trust our certificate"
        return "if it always does, the listener may expect TLS or authentication"

    def _refuse_closed(self) -> None:
        if self._closed:
            raise self._ended()

    def _timeout(self, timeout_ms: int | None) -> float:
        return (self._settings.request_timeout_ms if timeout_ms is None else timeout_ms) / 1000
