"""A caller on a listener with SASL: who it is once it has logged in, and for how long (KIP-43, KIP-152, KIP-368)."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from typing import Any, Final

from replication.records.codec.gathered import Part
from replication.wire.client.security import SaslMechanism
from replication.wire.encoding.framing import framed_parts
from replication.wire.encoding.headers import RequestStart, write_response_header
from replication.wire.encoding.kio_messages import response_classes
from replication.wire.encoding.kio_messages import write as write_by_kio
from replication.wire.error_code import ErrorCode
from replication.wire.messages import api_versions
from replication.wire.messages.api_versions import API_KEY as API_VERSIONS
from replication.wire.messages.api_versions import VERSIONS as API_VERSIONS_VERSIONS
from replication.wire.messages.api_versions import ApiVersions, ApiVersionsResponse
from replication.wire.server.authentication import (
    AFTERWARDS,
    HANDSHAKE_VERSIONS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    handshake_answer,
)
from replication.wire.server.call import Call, Caller
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.security.sasl_server import LoggedIn, LoginRefusedError, SaslServer, sasl_server
from replication.wire.server.security.users import Users

_BEFORE_LOGIN: Final = frozenset({API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE})
_SINCE_LIFETIME: Final = 1
_RENEWAL_SECONDS: Final = 1.0
"""A login is renewed once in that time at most."""

_WRONG_CREDENTIALS: Final = (
    "Authentication failed during authentication due to invalid credentials with SASL mechanism {}"
)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslSettings:
    """How clients of a listener log in."""

    users: Users
    mechanisms: tuple[SaslMechanism, ...] = tuple(SaslMechanism)
    """Kafka: sasl.enabled.mechanisms."""
    connections_max_reauth_ms: int = 0
    """After how long a client has to log in again, or its connection is closed; 0: never."""
    sasl_server_max_receive_size: int = 524_288
    """The largest request, in bytes, of who has not logged in."""
    login_seconds: float = 60.0
    """How long a client may take from its connection to the end of its login, however much it sends."""
    connection_failed_authentication_delay_ms: int = 100
    """How long who is refused waits for the answer."""


class SaslAuthentication:
    """Refuses all requests but a login, before one and after its lifetime."""

    def __init__(self, caller: Caller, settings: SaslSettings, clock: Callable[[], float] = time.monotonic) -> None:
        """Know nothing of it yet."""
        self.caller = caller
        self.takes_tokens = False
        self.most_bytes: int | None = settings.sasl_server_max_receive_size
        self._settings: Final = settings
        self._clock: Final = clock
        self._mechanism: SaslMechanism | None = None
        self._server: SaslServer | None = None
        """While a login goes on."""
        self._username: str | None = None
        """Once there was one."""
        self._until: float | None = None
        self._renewed_at = -inf
        self._has_asked_versions = False

    def ensure_allowed(self, start: RequestStart) -> None:
        """Raise HangUpError for a request that comes before a login, in the middle of one, or after its time.

        In the middle of one, who asks for versions or begins anew is told ILLEGAL_SASL_STATE; before one, versions are
        told once.
        """
        if self._server is not None and start.api_key != SASL_AUTHENTICATE:
            error = HangUpError("login", f"a request of API {start.api_key} came before the login was done")
            error.parts = answer_in_login(start)
            raise error
        if start.api_key == API_VERSIONS and self._username is None and start.api_version in API_VERSIONS_VERSIONS:
            if self._has_asked_versions:
                raise HangUpError("login", "versions were asked for a second time before a login")
            self._has_asked_versions = True
        if start.api_key in _BEFORE_LOGIN:
            return
        if self._username is None:
            raise HangUpError("login", f"a request of API {start.api_key} came before the login was done")
        if self._until is not None and self._clock() >= self._until:
            raise HangUpError("session", f"the login of {self._username} has ended, and was not renewed")

    def handshake(self, request: Any, call: Call) -> Any:
        """Begin a login by the mechanism that is asked for; one that lasts for ever is not renewed, nor any at once."""
        if self._username is not None and not self._may_renew():
            return handshake_answer(call.version, ErrorCode.ILLEGAL_SASL_STATE, ())
        names = tuple(mechanism.value for mechanism in self._settings.mechanisms)
        if request.mechanism not in names:
            answer = handshake_answer(call.version, ErrorCode.UNSUPPORTED_SASL_MECHANISM, names)
            raise self._refusal(f"the mechanism {request.mechanism!r:.40} is asked for, not {', '.join(names)}", answer)
        mechanism = SaslMechanism(request.mechanism)
        if self._username is not None and mechanism is not self._mechanism:
            answer = handshake_answer(call.version, ErrorCode.UNSUPPORTED_SASL_MECHANISM, names)
            raise self._refusal(f"{self._username} has logged in by another mechanism than {mechanism.value}", answer)
        self._mechanism = mechanism
        self._server = sasl_server(mechanism, self._settings.users)
        next(self._server)
        self.takes_tokens = call.version == 0
        return handshake_answer(call.version, ErrorCode.NONE, names)

    def authenticate(self, request: Any, call: Call) -> Any:
        """Go on with the login."""
        if self._server is None:
            if self._username is None:
                raise HangUpError("login", "SaslAuthenticate came before SaslHandshake")
            return _authenticated(call.version, ErrorCode.ILLEGAL_SASL_STATE, AFTERWARDS)
        try:
            said = self._continued(request.auth_bytes)
        except LoginRefusedError as error:
            told = error.told or _WRONG_CREDENTIALS.format(self._mechanism and self._mechanism.value)
            answer = _authenticated(call.version, ErrorCode.SASL_AUTHENTICATION_FAILED, told)
            raise self._refusal(str(error), answer) from error
        return _authenticated(call.version, ErrorCode.NONE, "", said, self._lifetime_ms())

    def token(self, frame: memoryview) -> list[Part]:
        """Go on with a login that began by SaslHandshake in version 0; where it fails there is no answer."""
        try:
            return framed_parts([self._continued(bytes(frame))])
        except LoginRefusedError as error:
            raise self._refusal(str(error)) from error

    def _continued(self, said: bytes) -> bytes:
        assert self._server is not None  # noqa: S101 - both callers have seen to it
        try:
            return self._server.send(said)
        except StopIteration as end:
            self._log_in(end.value)
            return end.value.last  # type: ignore[no-any-return]  # it is that of a LoggedIn

    def _may_renew(self) -> bool:
        if self._until is None or self._clock() < self._renewed_at + _RENEWAL_SECONDS:
            return False
        self._renewed_at = self._clock()
        return True

    def _log_in(self, login: LoggedIn) -> None:
        if self._username not in {None, login.username}:
            raise LoginRefusedError(
                f"{self._username} cannot become {login.username}",
                f"Cannot change principals during re-authentication from User.{self._username}: User.{login.username}",
            )
        self._username = login.username
        self._server = None
        self.takes_tokens = False
        self.most_bytes = None
        self.caller = self.caller._replace(principal=f"User:{login.username}")
        lifetime_ms = self._settings.connections_max_reauth_ms
        self._until = self._clock() + lifetime_ms / 1_000 if lifetime_ms > 0 else None

    def _lifetime_ms(self) -> int:
        return self._settings.connections_max_reauth_ms if self._server is None else 0

    def _refusal(self, reason: str, answer: Any = None) -> HangUpError:
        delay = self._settings.connection_failed_authentication_delay_ms / 1_000
        return HangUpError("login", f"the login failed: {reason}", answer=answer, delay_seconds=delay)


def _authenticated(version: int, code: ErrorCode, message: str, said: bytes = b"", lifetime_ms: int = 0) -> Any:
    classes = response_classes(SASL_AUTHENTICATE, version)
    lifetime = {"session_lifetime": timedelta(milliseconds=lifetime_ms)} if version >= _SINCE_LIFETIME else {}
    return classes.SaslAuthenticateResponse(error_code=code, error_message=message, auth_bytes=said, **lifetime)
