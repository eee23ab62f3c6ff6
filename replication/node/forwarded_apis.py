"""What administrators ask a broker and the controller answers, over a network (Kafka: ForwardingManager)."""

from collections.abc import Callable
from threading import Lock
from typing import Any, Final

from replication.broker.lifecycle.controller_channel import ControllerChannel
from replication.errors import ReplicationError
from replication.node.envelope import answer_within, enclosed
from replication.node.unanswered import ANSWERED_BY_CONTROLLER, unanswered
from replication.protocol.error_code import ErrorCode
from replication.protocol.errors import MalformedResponseError, UnsupportedVersionError
from replication.protocol.messages.api import Api
from replication.protocol.messages.apis import api_with
from replication.server.call import Call
from replication.server.served_api import ServedApi, ServedApis


class ForwardedApis:
    """Passes requests on in envelopes, which say who has asked, one at a time, and the answers back.

    A request that has no answer in time is answered with REQUEST_TIMED_OUT: what it asks for may be done or not. One
    that the controller refuses to open is answered with UNKNOWN_SERVER_ERROR: that is no fault of who has asked.
    """

    def __init__(self, channel: ControllerChannel) -> None:
        """Take over a channel."""
        self._channel: Final = channel
        self._asking: Final = Lock()

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
        with self._asking:
            answer = self._channel.ask(envelope)
        if answer.error_code == ErrorCode.NONE and answer.response_data is not None:
            return answer_within(api, request, call, answer.response_data)
        is_old = answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        error = ErrorCode.UNSUPPORTED_VERSION if is_old else ErrorCode.UNKNOWN_SERVER_ERROR
        return unanswered(request, call.version, error)
