"""Answers Envelope: what brokers pass on of what they were asked by administrators (KIP-590)."""

import ipaddress
from typing import Any, Final

from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.node.envelope import ENVELOPE, read_principal
from replication.wire.encoding.framing import SIZE_BYTES
from replication.wire.error_code import ErrorCode
from replication.wire.errors import MalformedRequestError, UnsupportedRequestError
from replication.wire.server.call import Call, Caller
from replication.wire.server.received_request import ReceivedRequest
from replication.wire.server.served_api import ServedApis

API_KEY: Final = ENVELOPE
VERSIONS: Final = range(1)


class Envelopes:
    """Opens them, and answers what is in them as if the first who asked had come here."""

    def __init__(self, apis: ServedApis) -> None:
        """Answer these APIs, none of which lets wait for its answer."""
        self._apis: Final = apis

    def answer(self, request: Any, call: Call) -> Any:
        """Answer one: with an error of the envelope where it holds what is not to be passed on."""
        try:
            data = self._enclosed(request, call)
        except UnsupportedRequestError:
            return _envelope(ErrorCode.UNSUPPORTED_VERSION)
        except (MalformedRequestError, ValueError):
            return _envelope(ErrorCode.INVALID_REQUEST)
        return _envelope(ErrorCode.NONE, data)

    def _enclosed(self, request: Any, call: Call) -> bytes:
        received = ReceivedRequest.of(request.request_data)
        api = self._apis.get(received.header.api_key)
        if api is None or received.header.api_version not in api.versions:
            raise UnsupportedRequestError(f"{received.api.name} is not answered here")
        address = str(ipaddress.ip_address(bytes(request.client_host_address)))
        caller = Caller(address, read_principal(request.request_principal), call.caller.listener)
        answer = api.answer(received.request, Call(received.header.api_version, caller, received.header.client_id))
        return received.answered(answer)[SIZE_BYTES:]


def _envelope(error: ErrorCode, data: bytes | None = None) -> Any:
    return kio_answer(API_KEY, 0, {"response_data": data, "error_code": error})
