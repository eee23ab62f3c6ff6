"""What a connection begins with: learn the broker's versions, then say who we are (KIP-35, KIP-152)."""

from collections.abc import Generator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from replication.wire.client.sasl import Login, sasl_client
from replication.wire.encoding.kio_messages import RequestPayload, request_classes
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.errors import AuthenticationFailedError, raise_for
from replication.wire.messages import api_versions
from replication.wire.messages.api_versions import ApiVersions, ApiVersionsRequest, ApiVersionsResponse
from replication.wire.messages.request import Request

_SASL_HANDSHAKE: Final = 17
_HANDSHAKE_VERSIONS: Final = range(1, 2)
"""After version 0 the mechanism's own messages follow without a frame's header, as before Kafka 1.0."""
_SASL_AUTHENTICATE: Final = 36
_AUTHENTICATE_VERSIONS: Final = range(1)
"""Versions 1 and 2 are about sessions that are authenticated anew before they end (KIP-368): ours are opened anew."""


_API_VERSIONS: Final = "ApiVersions"
_SOFTWARE: Final = "epochlog"


def shake_hands(sasl: Login | None) -> Generator[Request[Any] | RequestPayload, Any, ApiVersions]:
    """Yield requests, be sent their answers, and return the broker's versions once it is ready for others."""
    versions = yield from _negotiate()
    if sasl is not None:
        yield from _authenticate(sasl, versions)
    return versions


def _negotiate() -> Generator[ApiVersionsRequest, ApiVersionsResponse, ApiVersions]:
    """Ask a broker what it speaks.

    A broker that does not know our version of the question answers in version 0, with an error and the versions of
    the question that it knows; before Kafka 2.4 with the error alone.
    """
    answer = yield _question(api_versions.VERSIONS)
    if answer.error is ErrorCode.UNSUPPORTED_VERSION:
        told = answer.versions if answer.versions.theirs else ApiVersions({api_versions.API_KEY: range(1)})
        older = told.highest(api_versions.API_KEY, _API_VERSIONS, range(api_versions.VERSIONS.stop - 1))
        answer = yield _question(range(older, older + 1))
    raise_for(answer.error, _API_VERSIONS)
    return answer.versions


def _question(asked_in: range) -> ApiVersionsRequest:
    return ApiVersionsRequest(
        client_software_name=_SOFTWARE, client_software_version=_software_version(), asked_in=asked_in
    )


@cache
def _software_version() -> str:
    try:
        return version(_SOFTWARE)
    except PackageNotFoundError:
        return "unknown"


def _authenticate(sasl: Login, versions: ApiVersions) -> Generator[RequestPayload, Any, None]:
    yield from _choose_mechanism(sasl, versions)
    highest = versions.highest(_SASL_AUTHENTICATE, "SaslAuthenticate", _AUTHENTICATE_VERSIONS)
    request = request_classes(_SASL_AUTHENTICATE, highest).SaslAuthenticateRequest
    client = sasl_client(sasl)
    message = next(client)
    while True:
        answer = yield request(auth_bytes=message)
        error = code_of(answer.error_code)
        if error is not ErrorCode.NONE:
            raise AuthenticationFailedError(
                f"the broker refuses {sasl.username} with {sasl.mechanism_name}: {answer.error_message or error.name}"
            )
        try:
            message = client.send(answer.auth_bytes)
        except StopIteration:
            return


def _choose_mechanism(sasl: Login, versions: ApiVersions) -> Generator[RequestPayload, Any, None]:
    highest = versions.highest(_SASL_HANDSHAKE, "SaslHandshake", _HANDSHAKE_VERSIONS)
    request = request_classes(_SASL_HANDSHAKE, highest).SaslHandshakeRequest
    answer = yield request(mechanism=sasl.mechanism_name)
    error = code_of(answer.error_code)
    if error is ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        accepted = ", ".join(answer.mechanisms) or "none"
        raise AuthenticationFailedError(
            f"the broker does not accept {sasl.mechanism_name}", f"choose a mechanism that it accepts: {accepted}"
        )
    if error is ErrorCode.ILLEGAL_SASL_STATE:
        raise AuthenticationFailedError("the listener does not use authentication", "leave out the user and password")
    raise_for(error, "SaslHandshake")
