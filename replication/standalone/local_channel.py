"""How a broker reaches a controller of its own process."""

from collections.abc import Callable
from typing import Final

from replication.broker.lifecycle.controller_channel import AnswerT
from replication.broker.lifecycle.errors import NoControllerError
from replication.clock import monotonic_ms
from replication.protocol.messages.request import Request
from replication.standalone.errors import ControllerFailedError
from replication.standalone.requests.broker_requests import BrokerRequests
from replication.standalone.static_controller import StaticController


class LocalChannel:
    """Asks by calling: there is no address, and no answer is late."""

    address: Final = None
    may_arrive_late: Final = False

    def __init__(self, controller: StaticController, clock: Callable[[], int] = monotonic_ms) -> None:
        """Ask this controller."""
        self._requests: Final = BrokerRequests(controller, clock)
        self._is_closed = False

    def ask(self, request: Request[AnswerT], timeout_ms: int | None = None) -> AnswerT:
        """Return the controller's answer. Raises NoControllerError once it failed."""
        del timeout_ms
        if self._is_closed:
            raise NoControllerError("the channel was closed")
        try:
            return self._requests.answer(request)
        except ControllerFailedError as error:
            raise NoControllerError(str(error)) from error

    def close(self) -> None:
        """Ask nothing more."""
        self._is_closed = True
