"""A broker says that its controller does not answer, refuses it or has fenced it; not each time that it asks again."""

import pytest

from replication.cluster.broker.lifecycle.errors import NoControllerError, RefusedByControllerError
from replication.cluster.broker.lifecycle.registration_news import RegistrationNews
from replication.cluster.broker.lifecycle.told_lifecycle import ToldLifecycle
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.broker.events.heard_troubles import HeardTroubles


def refusal(code: ErrorCode, asked: str = "a heartbeat") -> RefusedByControllerError:
    return RefusedByControllerError(9, asked, code, "controller:9093")


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (NoControllerError("controller:9093: Connection refused"), "controller:9093: Connection refused"),
        (refusal(ErrorCode.STALE_BROKER_EPOCH), "another has taken its place; restart it"),
        (refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED), "allow this user ClusterAction"),
    ],
)
def test_each_error_is_told_once_until_the_controller_has_answered(error: Exception, advice: str) -> None:
    told = HeardTroubles()
    news = ToldLifecycle(told)
    for _ in range(3):
        news.refused(error)
    news.answered()
    assert told == ["controller", "controller over"]
    assert advice in told.reasons[0]


def test_another_error_is_told_too() -> None:
    told = HeardTroubles()
    news = ToldLifecycle(told)
    for error in (NoControllerError("nobody"), refusal(ErrorCode.STALE_BROKER_EPOCH), NoControllerError("nobody")):
        news.refused(error)
    assert told == ["controller", "controller"]


def test_late_heartbeats_are_told_once_until_one_is_sent_in_time() -> None:
    told = HeardTroubles()
    news = ToldLifecycle(told)
    news.in_time()
    for _ in range(3):
        news.late(4_000)
    news.in_time()
    news.late(3_000)
    assert told == ["heartbeats", "heartbeats over", "heartbeats"]
    assert "4,000 ms late" in told.reasons[0]


def test_fencing_is_told_and_its_end_but_not_that_of_the_start() -> None:
    told = HeardTroubles()
    news = ToldLifecycle(told)
    news.unfenced()
    assert told == []
    news.fenced()
    news.unfenced()
    assert told == ["fenced", "fenced over"]


def test_what_ends_a_start_for_good_is_not_told_as_if_it_would_pass() -> None:
    told = HeardTroubles()
    news = RegistrationNews(told)
    news.refused(refusal(ErrorCode.DUPLICATE_BROKER_REGISTRATION, "a registration"))
    assert told == ["controller"]
    news.refused(refusal(ErrorCode.INVALID_REGISTRATION, "a registration"))
    assert told == ["controller"]
