"""Who a caller is, and what those may ask who have not said so."""

from typing import Any, Final, Protocol

from replication.records.codec.gathered import Part
from replication.wire.encoding.headers import RequestStart
from replication.wire.encoding.kio_messages import response_classes
from replication.wire.error_code import ErrorCode
from replication.wire.server.call import Call, Caller

SASL_HANDSHAKE: Final = 17
SASL_AUTHENTICATE: Final = 36
HANDSHAKE_VERSIONS: Final = range(2)
AUTHENTICATE_VERSIONS: Final = range(3)
AFTERWARDS: Final = "SaslAuthenticate request received after successful authentication"


class Authentication(Protocol):
    """One caller's."""

    caller: Caller
    """As it is known by now."""
    most_bytes: int | None
    """The largest request that it may send now, where that is less than others may."""
    takes_tokens: bool
    """Whether the next frame is a token of the mechanism by itself, as after SaslHandshake in version 0."""

    def ensure_allowed(self, start: RequestStart) -> None:
        """Raise HangUpError for a request that this caller may not send, now; it may have the frame of an answer."""

    def handshake(self, request: Any, call: Call) -> Any:
        """Answer SaslHandshake."""

    def authenticate(self, request: Any, call: Call) -> Any:
        """Answer SaslAuthenticate; HangUpError, with the answer, where it fails."""

    def token(self, frame: memoryview) -> list[Part]:
        """Answer a frame that is a token by itself; HangUpError where it fails."""


class NoSasl:
    """On a listener without SASL a caller is who its certificate says, or anonymous."""

    takes_tokens = False
    most_bytes: int | None = None

    def __init__(self, caller: Caller) -> None:
        """Accept the caller as it is."""
        self.caller = caller

    def ensure_allowed(self, _: RequestStart) -> None:
        """Allow any request."""

    def handshake(self, _: Any, call: Call) -> Any:
        """Refuse, as Kafka does."""
        return handshake_answer(call.version, ErrorCode.ILLEGAL_SASL_STATE, ())

    def authenticate(self, _: Any, call: Call) -> Any:
        """Refuse, as Kafka does."""
        classes = response_classes(SASL_AUTHENTICATE, call.version)
        return classes.SaslAuthenticateResponse(
            error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=AFTERWARDS, auth_bytes=b""
        )

    def token(self, frame: memoryview) -> list[Part]:
        """Is not called."""
        raise NotImplementedError


def handshake_answer(version: int, code: ErrorCode, mechanisms: tuple[str, ...]) -> Any:
    """Return the answer to SaslHandshake."""
    classes = response_classes(SASL_HANDSHAKE, version)
    return classes.SaslHandshakeResponse(error_code=code, mechanisms=mechanisms)
