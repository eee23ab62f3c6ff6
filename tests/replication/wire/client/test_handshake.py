"""What a connection begins with, answered by hand."""

from importlib.metadata import version
from typing import Any

import pytest

from replication.wire.client.handshake import shake_hands
from replication.wire.client.security import SaslMechanism, SaslSettings
from replication.wire.encoding.kio_messages import response_classes
from replication.wire.error_code import ErrorCode
from replication.wire.errors import AuthenticationFailedError, KafkaError, UnsupportedVersionError
from replication.wire.messages.api_versions import ApiVersions, ApiVersionsResponse

PLAIN = SaslSettings(SaslMechanism.PLAIN, "alice", "secret")
SPOKEN = {1: range(4, 18), 17: range(2), 18: range(5), 36: range(3)}


def _versions(error: ErrorCode = ErrorCode.NONE, spoken: dict[int, range] = SPOKEN) -> ApiVersionsResponse:
    return ApiVersionsResponse(error=error, versions=ApiVersions(spoken))


def _mechanisms(error: ErrorCode = ErrorCode.NONE, *mechanisms: str) -> Any:
    return response_classes(17, 1).SaslHandshakeResponse(error_code=error, mechanisms=mechanisms)


def _authenticated(error: ErrorCode = ErrorCode.NONE, message: str | None = None) -> Any:
    return response_classes(36, 0).SaslAuthenticateResponse(error_code=error, error_message=message, auth_bytes=b"")


def test_without_sasl_the_versions_are_all_that_is_asked() -> None:
    steps = shake_hands(None)
    request: Any = next(steps)
    assert (max(request.asked_in), request.client_software_name) == (4, "epochlog")
    assert request.client_software_version == version("epochlog")
    with pytest.raises(StopIteration) as end:
        steps.send(_versions())
    assert end.value.value == ApiVersions(SPOKEN)


def test_a_broker_that_knows_an_older_question_is_asked_that() -> None:
    steps = shake_hands(None)
    next(steps)
    again: Any = steps.send(_versions(ErrorCode.UNSUPPORTED_VERSION, {18: range(3)}))
    assert again.asked_in == range(2, 3)


def test_a_broker_that_does_not_say_what_it_knows_is_asked_in_version_0() -> None:
    steps = shake_hands(None)
    next(steps)
    again: Any = steps.send(_versions(ErrorCode.UNSUPPORTED_VERSION, {}))
    assert again.asked_in == range(1)


def test_a_broker_that_knows_only_newer_questions_is_refused() -> None:
    steps = shake_hands(None)
    next(steps)
    with pytest.raises(UnsupportedVersionError, match="ApiVersions is supported in versions 7 to 8"):
        steps.send(_versions(ErrorCode.UNSUPPORTED_VERSION, {18: range(7, 9)}))


def test_another_error_is_raised() -> None:
    steps = shake_hands(None)
    next(steps)
    with pytest.raises(KafkaError, match="UNKNOWN_SERVER_ERROR"):
        steps.send(_versions(ErrorCode.UNKNOWN_SERVER_ERROR))


def test_with_sasl_the_mechanism_is_chosen_and_then_spoken() -> None:
    steps = shake_hands(PLAIN)
    next(steps)
    chosen: Any = steps.send(_versions())
    assert (chosen.__api_key__, chosen.__version__, chosen.mechanism) == (17, 1, "PLAIN")
    message: Any = steps.send(_mechanisms())
    assert (message.__api_key__, message.__version__, message.auth_bytes) == (36, 0, b"\0alice\0secret")
    with pytest.raises(StopIteration):
        steps.send(_authenticated())


def test_a_mechanism_that_the_broker_does_not_accept() -> None:
    steps = shake_hands(PLAIN)
    next(steps)
    steps.send(_versions())
    with pytest.raises(AuthenticationFailedError, match=r"does not accept PLAIN; .* SCRAM-SHA-256, GSSAPI"):
        steps.send(_mechanisms(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "SCRAM-SHA-256", "GSSAPI"))


def test_a_listener_without_authentication() -> None:
    steps = shake_hands(PLAIN)
    next(steps)
    steps.send(_versions())
    with pytest.raises(AuthenticationFailedError, match="does not use authentication"):
        steps.send(_mechanisms(ErrorCode.ILLEGAL_SASL_STATE))


def test_a_wrong_password_is_told_in_the_brokers_words_without_the_password() -> None:
    steps = shake_hands(PLAIN)
    next(steps)
    steps.send(_versions())
    steps.send(_mechanisms())
    with pytest.raises(AuthenticationFailedError, match="refuses alice with PLAIN: Invalid credentials") as refused:
        steps.send(_authenticated(ErrorCode.SASL_AUTHENTICATION_FAILED, "Invalid credentials"))
    assert "secret" not in str(refused.value)


def test_a_broker_without_sasl_is_refused() -> None:
    steps = shake_hands(PLAIN)
    next(steps)
    with pytest.raises(UnsupportedVersionError, match="SaslHandshake is supported in none"):
        steps.send(_versions(spoken={18: range(5)}))
