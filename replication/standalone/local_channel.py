"""How a broker reaches a controller of its own process."""

from collections.abc import Callable
from typing import Any, Final

from replication.broker.lifecycle.controller_channel import AnswerT
from replication.broker.lifecycle.errors import NoControllerError
from replication.clock import monotonic_ms
from replication.controller.refusal import Refusal
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from replication.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from replication.protocol.messages.request import Request
from replication.standalone.errors import ControllerFailedError, ControllerUnreachableError
from replication.standalone.reached_controller import ReachedController


class LocalChannel:
    """Asks by calling: there is no address, and no answer is late."""

    address: Final = None

    def __init__(self, controller: ReachedController, clock: Callable[[], int] = monotonic_ms) -> None:
        """Ask this controller."""
        self._controller: Final = controller
        self._clock: Final = clock
        self._is_closed = False

    def ask(self, request: Request[AnswerT], timeout_ms: int | None = None) -> AnswerT:
        """Return the controller's answer to a registration or a heartbeat. Raises NoControllerError once it failed."""
        del timeout_ms
        if self._is_closed:
            raise NoControllerError("the channel was closed")
        try:
            answer: Any = self._answer(request)
        except (ControllerFailedError, ControllerUnreachableError) as error:
            raise NoControllerError(str(error)) from error
        return answer  # type: ignore[no-any-return]

    def close(self) -> None:
        """Ask nothing more."""
        self._is_closed = True

    def _answer(self, request: Any) -> Any:
        match request:
            case BrokerRegistrationRequest():
                return self._register(request)
            case BrokerHeartbeatRequest():
                return self._heartbeat(request)
        raise TypeError(f"a broker does not ask its controller for {type(request).__name__}")

    def _register(self, request: BrokerRegistrationRequest) -> BrokerRegistrationResponse:
        try:
            epoch = self._controller.decide(lambda deciding: deciding.register_broker(request, self._clock()))
        except Refusal as refusal:
            return BrokerRegistrationResponse(error=refusal.code, broker_epoch=-1)
        return BrokerRegistrationResponse(error=ErrorCode.NONE, broker_epoch=epoch)

    def _heartbeat(self, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
        try:
            answer = self._controller.decide(lambda deciding: deciding.heartbeat(request, self._clock()))
        except Refusal as refusal:
            return BrokerHeartbeatResponse(
                error=refusal.code, is_caught_up=False, is_fenced=True, should_shut_down=False
            )
        return BrokerHeartbeatResponse(
            error=ErrorCode.NONE,
            is_caught_up=answer.is_caught_up,
            is_fenced=answer.is_fenced,
            should_shut_down=answer.should_shut_down,
        )
