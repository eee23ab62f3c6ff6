"""What is answered, last, to who does something else in the middle of a login."""

from replication.codec.gathered import Part
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages import api_versions
from replication.protocol.messages.api_versions import ApiVersions, ApiVersionsResponse
from replication.protocol.wire.framing import framed_parts
from replication.protocol.wire.headers import RequestStart, write_response_header
from replication.protocol.wire.kio_messages import write as write_by_kio
from replication.server.authentication import HANDSHAKE_VERSIONS, SASL_HANDSHAKE, handshake_answer


def answer_in_login(start: RequestStart) -> list[Part]:
    """Return ILLEGAL_SASL_STATE as the answer to a request by which a connection begins; nothing for any other."""
    message = _message(start.api_key, start.api_version)
    header = write_response_header(start.correlation_id, flexible=False)
    return [] if message is None else framed_parts([header, message])


def _message(api_key: int, version: int) -> Part | None:
    if api_key == api_versions.API_KEY:
        refusal = ApiVersionsResponse(error=ErrorCode.ILLEGAL_SASL_STATE, versions=ApiVersions({}))
        return api_versions.RESPONSE.write(refusal, version if version in api_versions.VERSIONS else 0)
    if api_key == SASL_HANDSHAKE and version in HANDSHAKE_VERSIONS:
        return write_by_kio(handshake_answer(version, ErrorCode.ILLEGAL_SASL_STATE, ()))
    return None
