"""Requests about the brokers of a cluster: UnregisterBroker."""

from typing import Any, Final

from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.controller.refusal import Refusal
from replication.cluster.standalone.static_controller import StaticController
from replication.wire.error_code import ErrorCode, message_of
from replication.wire.server.call import Call

UNREGISTER_BROKER: Final = 64


class MemberRequests:
    """Answers them in kio's terms."""

    def __init__(self, controller: StaticController) -> None:
        """Pass them on to this controller."""
        self._controller: Final = controller

    def unregister(self, request: Any, call: Call) -> Any:
        """Answer UnregisterBroker."""
        error, message = ErrorCode.NONE, None
        try:
            self._controller.decide(lambda deciding: deciding.unregister_broker(request.broker_id))
        except Refusal as refusal:
            error, message = refusal.code, refusal.message or message_of(refusal.code)
        return kio_answer(UNREGISTER_BROKER, call.version, {"error_code": error, "error_message": message})
