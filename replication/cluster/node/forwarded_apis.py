"""What administrators ask a broker and the controller answers, over a network (Kafka: ForwardingManager)."""

from collections.abc import Callable
from typing import Any, Final

from replication.base.errors import ReplicationError
from replication.cluster.broker.broker_settings import SESSION_TIMEOUT_MS
from replication.cluster.broker.lifecycle.controller_channel import ControllerChannel
from replication.cluster.broker.lifecycle.errors import NoControllerError
from replication.cluster.node.envelope import answer_within, enclosed
from replication.cluster.node.unanswered import ANSWERED_BY_CONTROLLER, unanswered
from replication.cluster.turns import Turns
from replication.wire.client.deadline import Deadline
from replication.wire.error_code import ErrorCode
from replication.wire.errors import MalformedResponseError, UnsupportedVersionError
from replication.wire.messages.api import Api
from replication.wire.messages.apis import api_with
from replication.wire.server.call import Call
from replication.wire.server.served_api import ServedApi, ServedApis

_TIMEOUT_MS: Final = SESSION_TIMEOUT_MS
"""With the wait for others; no longer than the channel's own."""
_TELLING_MS: Final = _TIMEOUT_MS // 2
"""One that was asked for less says nothing of those who wait: the others before it took the time."""


class ForwardedApis:
    """Passes requests on in envelopes, which say who has asked, one at a time, and the answers back.

    A request that has no answer in time is answered with REQUEST_TIMED_OUT: what it asks for may be done or not. Those
    that wait behind it are answered so with it, so that nobody waits for as long as all together. One
    that the controller refuses to open is answered with UNKNOWN_SERVER_ERROR: that is no fault of who has asked.
    """

    def __init__(self, channel: ControllerChannel) -> None:
        """Own a channel."""
        self._channel: Final = channel
        self._turns: Final = Turns()

    def apis(self) -> ServedApis:
        """Return what is passed on, by API key."""
        known = [api for key in ANSWERED_BY_CONTROLLER if (api := api_with(key)) is not None]
        return {api.key: ServedApi(api.served, self._passed_on(api)) for api in known}

    def close(self) -> None:
        """Ask nothing more, and let nobody wait."""
        self._channel.close()

    def _passed_on(self, api: Api) -> Callable[[Any, Call], Any]:
        def answer(request: Any, call: Call) -> Any:
            try:
                return self._answer(api, request, call)
            except UnsupportedVersionError:
                return unanswered(request, call.version, ErrorCode.UNSUPPORTED_VERSION)
            except MalformedResponseError:
                return unanswered(request, call.version, ErrorCode.UNKNOWN_SERVER_ERROR)
            except ReplicationError:
                return unanswered(request, call.version, ErrorCode.REQUEST_TIMED_OUT)

        return answer

    def _answer(self, api: Api, request: Any, call: Call) -> Any:
        envelope = enclosed(api, request, call)
        answer = self._in_turn(envelope)
        if answer.error_code == ErrorCode.NONE and answer.response_data is not None:
            return answer_within(api, request, call, answer.response_data)
        is_old = answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        error = ErrorCode.UNSUPPORTED_VERSION if is_old else ErrorCode.UNKNOWN_SERVER_ERROR
        return unanswered(request, call.version, error)

    def _in_turn(self, envelope: Any) -> Any:
        """Ask once it is its turn. Raises what `ControllerChannel.ask` raises, and TurnMissedError."""
        deadline = Deadline(_TIMEOUT_MS / 1_000)
        with self._turns.turn(deadline.left()):
            timeout_ms = max(1, round(deadline.left() * 1_000))
            try:
                return self._channel.ask(envelope, timeout_ms)
            except NoControllerError as error:
                if timeout_ms >= _TELLING_MS:
                    self._turns.failed(str(error))
                raise
