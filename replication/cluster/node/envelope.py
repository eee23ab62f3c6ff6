"""What a broker passes on to the controller, with who has asked it (KIP-590)."""

import ipaddress
from typing import Any, Final, NamedTuple

from replication.records.codec.codec import codec_of
from replication.records.codec.errors import CODEC_ERRORS
from replication.records.codec.fields import Bool, Data, Int16, String
from replication.records.codec.read_whole import read_whole
from replication.wire.encoding.headers import RequestHeader, read_response_header, write_request_header
from replication.wire.encoding.kio_messages import request_class
from replication.wire.errors import MalformedRequestError, MalformedResponseError
from replication.wire.messages.api import Api
from replication.wire.server.call import ANONYMOUS, Call

ENVELOPE: Final = 58
"""The key of its API, of which there is version 0."""
_CORRELATION_ID: Final = 0
"""Of what is enclosed: each is answered in an envelope of its own."""


class _Principal(NamedTuple):
    version: Int16
    type: String
    name: String
    is_by_token: Bool


def enclosed(api: Api, request: Any, call: Call) -> Any:
    """Return the envelope, in kio's terms, of a request in the version of its call."""
    header = RequestHeader(api.key, call.version, _CORRELATION_ID, call.client_id)
    data = write_request_header(header, flexible=api.is_flexible(call.version)) + api.request.write(
        request, call.version
    )
    kind: Any = request_class(ENVELOPE, 0)
    return kind(
        request_data=data,
        request_principal=write_principal(call.caller.principal),
        client_host_address=ipaddress.ip_address(call.caller.address).packed,
    )


def answer_within(api: Api, request: Any, call: Call, data: Data) -> Any:
    """Return the answer in an envelope's answer. Raises MalformedResponseError where it is not that request's."""
    correlation_id, start = read_response_header(data, flexible=api.is_answer_flexible(call.version))
    if correlation_id != _CORRELATION_ID:
        raise MalformedResponseError(f"what an envelope answers has the correlation id {correlation_id}, not 0")
    return api.read_answer(request, memoryview(data)[start:], call.version)


def write_principal(principal: str) -> bytes:
    """Return who has asked first, as Kafka's brokers write it by default (DefaultKafkaPrincipalBuilder)."""
    kind, _, name = principal.partition(":")
    out = bytearray()
    codec_of(_Principal, 0).write(out, _Principal(0, kind, name, False))
    return bytes(out)


def read_principal(told: Data | None) -> str:
    """Return who has asked first; ANONYMOUS where that is not given. Raises MalformedRequestError."""
    if told is None:
        return ANONYMOUS
    try:
        principal = read_whole(codec_of(_Principal, 0), told)
    except CODEC_ERRORS as error:
        raise MalformedRequestError(f"the principal of an envelope cannot be read: {error}") from error
    return f"{principal.type}:{principal.name}"
