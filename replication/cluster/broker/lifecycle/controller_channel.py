"""What a broker asks of the controller, whichever that is at the time."""

import time
from threading import Event
from typing import Any, Final, Protocol, TypeVar

from replication.base.back_off import BackOff
from replication.cluster.broker.lifecycle.errors import NoControllerError
from replication.cluster.quorum.active_controller import ActiveController
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.client.deadline import Deadline
from replication.wire.error_code import ErrorCode
from replication.wire.errors import ConnectionClosedError, ConnectionFailedError, RequestTimedOutError
from replication.wire.messages.request import Request

_ASK_AGAIN: Final = (ConnectionClosedError, ConnectionFailedError, RequestTimedOutError)
"""What another try, or another controller, may do better."""
_LATE_SECONDS: Final = 30.0
"""After that no controller comes to what it was asked (Kafka: request.timeout.ms)."""
_INITIAL_BACK_OFF_MS: Final = 50
"""Kafka: reconnect.backoff.ms."""


class Answer(Protocol):
    """What all answers of a controller have."""

    @property
    def error(self) -> ErrorCode:
        """Of the request as a whole."""
        ...


AnswerT = TypeVar("AnswerT", bound=Answer)


class Channel(Protocol):
    """Sends requests to the controller, wherever that is. One thread sends; any may close."""

    @property
    def address(self) -> Address | None:
        """Whom the last request was asked; None where it was nobody on the network."""

    @property
    def may_arrive_late(self) -> bool:
        """Whether something that was asked before, and not answered, may still reach the controller."""

    def ask(self, request: Request[AnswerT], timeout_ms: int | None = None) -> AnswerT:
        """Return the controller's answer. Raises NoControllerError where none comes in time."""

    def close(self) -> None:
        """End it, also while another thread waits for an answer."""


class ControllerChannel:
    """One connection, to the active controller (Kafka: NodeToControllerChannelManager). One thread asks; any may close.

    A request is asked again where the connection breaks or another controller leads by now, without waiting any longer
    for the one before.
    """

    def __init__(self, controller: ActiveController, settings: ClientSettings, retry_timeout_ms: int) -> None:
        """Try for `retry_timeout_ms`, in each request."""
        self._controller = controller
        self._retry_timeout_ms = retry_timeout_ms
        self._settings = settings.within(retry_timeout_ms)
        self._connection: Connection | None = None
        self._back_off = BackOff(_INITIAL_BACK_OFF_MS)
        self._closed = Event()
        self._unanswered_until = 0.0
        controller.tell(self._hang_up)

    @property
    def may_arrive_late(self) -> bool:
        """Whether something that was asked before, and not answered, may still reach the controller.

        It may have it already, and not have come to it: so it is said for some time after a connection has broken.
        """
        return time.monotonic() < self._unanswered_until

    @property
    def address(self) -> Address | None:
        """Whom the last request was asked; None before the first."""
        return self._connection.address if self._connection else None

    def ask(self, request: Request[AnswerT], timeout_ms: int | None = None) -> AnswerT:
        """Return the controller's answer, whatever error it has but NOT_CONTROLLER. It may be in kio's terms.

        Raises NoControllerError after the time given, the channel's own by default, and after `close`; and without
        another try what the controller cannot be asked for at all: AuthenticationFailedError, CertificateRefusedError,
        UnsupportedVersionError, MalformedResponseError.
        """
        deadline = Deadline(
            min(self._retry_timeout_ms, self._retry_timeout_ms if timeout_ms is None else timeout_ms) / 1_000
        )
        reason = "the quorum's leader is not known"
        while deadline.left() > 0 and not self._closed.is_set():
            address = self._controller.wait(deadline.left(), self._closed.is_set)
            if address is None:
                reason = self._controller.trouble or reason
                break
            try:
                answer = self._connected(address, _milliseconds(deadline)).ask(request, _milliseconds(deadline))
            except _ASK_AGAIN as error:
                reason = str(error)
                if not isinstance(error, ConnectionFailedError):
                    self._unanswered_until = time.monotonic() + _LATE_SECONDS
            else:
                if _error(answer) != ErrorCode.NOT_CONTROLLER:
                    self._back_off.succeeded()
                    return answer
                reason = f"{address}: NOT_CONTROLLER"
            self._closed.wait(min(self._back_off.failed() / 1_000, deadline.left()))
        raise NoControllerError("the channel was closed" if self._closed.is_set() else reason)

    def close(self) -> None:
        """End it, also while another thread waits for an answer."""
        self._closed.set()
        self._controller.tell_no_more(self._hang_up)
        self._controller.look_again()
        self._hang_up()

    def _hang_up(self) -> None:
        connection = self._connection
        if connection is not None and not self._is_wanted(connection):
            connection.close()

    def _is_wanted(self, connection: Connection) -> bool:
        return connection.address == self._controller.address and not self._closed.is_set()

    def _connected(self, address: Address, timeout_ms: int) -> Connection:
        connection = self._connection
        if connection is None or connection.closed or connection.address != address:
            if connection is not None:
                connection.close()
            connection = self._connection = Connection.open(address, self._settings.within(timeout_ms))
        self._hang_up()
        return connection


def _milliseconds(deadline: Deadline) -> int:
    return max(1, int(deadline.left() * 1_000))


def _error(answer: Any) -> int:
    """Return the error of an answer as a whole, where it has one; kio calls it otherwise, and has codes of its own."""
    error: int = getattr(answer, "error", getattr(answer, "error_code", ErrorCode.NONE))
    return error
