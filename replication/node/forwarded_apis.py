"""What administrators ask a broker and the controller answers, over a network (Kafka: ForwardingManager)."""

from threading import Lock
from typing import Any, Final

from replication.broker.lifecycle.controller_channel import ControllerChannel
from replication.errors import ReplicationError
from replication.node.unanswered import ANSWERED_BY_CONTROLLER, unanswered
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.apis import api_with
from replication.server.call import Call
from replication.server.served_api import ServedApi, ServedApis


class ForwardedApis:
    """Passes requests on as they are, one at a time, and the answers back.

    The controller sees this broker in place of who has asked it. A request that has no answer in time is answered with
    REQUEST_TIMED_OUT: what it asks for may be done or not.
    """

    def __init__(self, channel: ControllerChannel) -> None:
        """Take over a channel."""
        self._channel: Final = channel
        self._asking: Final = Lock()

    def apis(self) -> ServedApis:
        """Return what is passed on, by API key."""
        known = [api for key in ANSWERED_BY_CONTROLLER if (api := api_with(key)) is not None]
        return {api.key: ServedApi(api.served, self._answer) for api in known}

    def close(self) -> None:
        """Ask nothing more, and let nobody wait."""
        self._channel.close()

    def _answer(self, request: Any, call: Call) -> Any:
        try:
            with self._asking:
                return self._channel.ask(request)
        except ReplicationError:
            return unanswered(request, call.version, ErrorCode.REQUEST_TIMED_OUT)
