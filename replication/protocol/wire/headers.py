"""What stands before each request and each answer."""

from typing import Final, NamedTuple

from replication.codec.codec import codec_of
from replication.codec.fields import Data, Int16, Int32, OptionalLegacyString
from replication.protocol.wire.message_bytes import read_part, write_message

_REQUEST: Final = "RequestHeader"
_RESPONSE: Final = "ResponseHeader"


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
    return read_part(codec_of(RequestStart, 0, flexible=False), frame, _REQUEST)[0]


def read_request_header(frame: Data, *, flexible: bool) -> tuple[RequestHeader, int]:
    """Return a request's header, and where the request itself begins; MalformedRequestError."""
    return read_part(codec_of(RequestHeader, 0, flexible=flexible), frame, _REQUEST)


def write_response_header(correlation_id: int, *, flexible: bool) -> bytes:
    """Return what stands before an answer."""
    return write_message(codec_of(_ResponseHeader, 0, flexible=flexible), _ResponseHeader(correlation_id), _RESPONSE)


def read_response_header(frame: Data, *, flexible: bool) -> tuple[int, int]:
    """Return the correlation id of an answer, and where the answer itself begins; MalformedResponseError."""
    header, end = read_part(codec_of(_ResponseHeader, 0, flexible=flexible), frame, _RESPONSE)
    return header.correlation_id, end
