"""What stands before each request and each answer."""

import struct
from typing import Final, NamedTuple

from replication.records.codec.codec import codec_of
from replication.records.codec.fields import Data, Int16, Int32, OptionalLegacyString
from replication.wire.encoding.message_bytes import read_part, write_message

_REQUEST: Final = "RequestHeader"
_RESPONSE: Final = "ResponseHeader"
_START: Final = struct.Struct(">hhi")
_STARTS: Final = struct.Struct(">hhih")
"""And the size of the client id that follows."""
_CORRELATION_ID_BYTES: Final = 4
# Half the cost of calling a NamedTuple's class.
_build: Final = tuple.__new__


class RequestStart(NamedTuple):
    """What each request's header begins with: it decides on the form of the rest."""

    api_key: Int16
    api_version: Int16
    correlation_id: Int32


class RequestHeader(NamedTuple):
    """Which request it is, and whose."""

    api_key: Int16
    api_version: Int16
    correlation_id: Int32
    """Chosen by the client; the answer has the same."""
    client_id: OptionalLegacyString


class _ResponseHeader(NamedTuple):
    correlation_id: Int32


def write_request_header(header: RequestHeader, *, flexible: bool) -> bytes:
    """Return what stands before the request itself, whose version is flexible or not."""
    return write_message(codec_of(RequestHeader, 0, flexible=flexible), header, _REQUEST)


def read_request_start(frame: Data) -> RequestStart:
    """Read what a request's header begins with; MalformedRequestError."""
    if len(frame) < _START.size:
        return read_part(codec_of(RequestStart, 0, flexible=False), frame, _REQUEST)[0]
    start: RequestStart = _build(RequestStart, _START.unpack_from(frame))
    return start


def read_request_header(frame: Data, *, flexible: bool) -> tuple[RequestHeader, int]:
    """Return a request's header, and where the request itself begins; MalformedRequestError."""
    found = _plain_request_header(frame, flexible=flexible)
    return found or read_part(codec_of(RequestHeader, 0, flexible=flexible), frame, _REQUEST)


def _plain_request_header(frame: Data, *, flexible: bool) -> tuple[RequestHeader, int] | None:
    """Read a header as most are: with a client id, and without tags."""
    begins = _STARTS.size
    if len(frame) < begins:
        return None
    api_key, api_version, correlation_id, size = _STARTS.unpack_from(frame)
    if not 0 <= size <= len(frame) - begins - flexible:
        return None
    ends = begins + size
    if flexible and frame[ends]:
        return None
    try:
        client_id = str(frame[begins:ends], "utf-8")
    except UnicodeDecodeError:
        return None
    return _build(RequestHeader, (api_key, api_version, correlation_id, client_id)), ends + flexible


def write_response_header(correlation_id: int, *, flexible: bool) -> bytes:
    """Return what stands before an answer."""
    return correlation_id.to_bytes(_CORRELATION_ID_BYTES, "big", signed=True) + b"\0" * flexible


def read_response_header(frame: Data, *, flexible: bool) -> tuple[int, int]:
    """Return the correlation id of an answer, and where the answer itself begins; MalformedResponseError."""
    begins = _CORRELATION_ID_BYTES + flexible
    if len(frame) >= begins and not (flexible and frame[_CORRELATION_ID_BYTES]):  # as most are: without tags
        return int.from_bytes(frame[:_CORRELATION_ID_BYTES], "big", signed=True), begins
    header, end = read_part(codec_of(_ResponseHeader, 0, flexible=flexible), frame, _RESPONSE)
    return header.correlation_id, end
