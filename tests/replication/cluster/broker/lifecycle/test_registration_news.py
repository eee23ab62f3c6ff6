"""A broker waits to be registered, but not for what is refused for good."""

import pytest

from replication.cluster.broker.lifecycle.errors import NoControllerError, RefusedByControllerError
from replication.cluster.broker.lifecycle.registration_news import RegistrationNews
from replication.wire.error_code import ErrorCode


def refusal(code: ErrorCode) -> RefusedByControllerError:
    return RefusedByControllerError(9, "a registration", code, "controller:9093")


@pytest.mark.parametrize(
    "code", [ErrorCode.UNSUPPORTED_VERSION, ErrorCode.INVALID_REGISTRATION, ErrorCode.INCONSISTENT_CLUSTER_ID]
)
def test_what_would_be_refused_again_is_raised_at_once(code: ErrorCode) -> None:
    news = RegistrationNews()
    news.refused(refusal(code))
    with pytest.raises(RefusedByControllerError, match=code.name):
        news.wait(60)


@pytest.mark.parametrize("error", [refusal(ErrorCode.DUPLICATE_BROKER_REGISTRATION), NoControllerError("nobody")])
def test_what_may_pass_is_waited_for(error: Exception) -> None:
    news = RegistrationNews()
    news.refused(error)
    assert not news.wait(0.01)
    news.registered(7)
    assert news.wait(60)


def test_what_comes_after_the_registration_ends_no_start() -> None:
    news = RegistrationNews()
    news.registered(7)
    news.refused(refusal(ErrorCode.UNSUPPORTED_VERSION))
    assert news.wait(60)
