"""The one fetch that is open: when the next comes, and what a failure means for it."""

import pytest

from logstore import TopicPartition
from replication.cluster.fetcher.fetch_observer import FetchObserver
from replication.cluster.fetcher.fetcher_settings import FetcherSettings
from replication.cluster.fetcher.requests.fetch_session import FetchSession
from replication.cluster.fetcher.requests.open_fetch import OpenFetch
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchedPartition, FetchPartition, FetchRequest, FetchResponse

PARTITION = TopicPartition("orders", 0)
ANSWER = FetchResponse(session_id=7, partitions={PARTITION: FetchedPartition(ErrorCode.NONE, 0)})
BACK_OFF = 1_000


@pytest.fixture
def session() -> FetchSession:
    session = FetchSession()
    session.put(PARTITION, FetchPartition(0, 1 << 20))
    return session


@pytest.fixture
def fetch(session: FetchSession) -> OpenFetch:
    return OpenFetch(session, FetcherSettings(), FetchObserver())


def asked(fetch: OpenFetch, now: int) -> FetchRequest:
    request = fetch.ask(now)
    assert request is not None
    return request


def test_one_fetch_is_open_at_a_time(fetch: OpenFetch) -> None:
    assert fetch.due_at(5) == 5
    request = asked(fetch, 5)
    assert (fetch.due_at(6), fetch.ask(6)) == (None, None)
    assert fetch.answered(request, ANSWER, 9, BACK_OFF) == (5, "")
    assert fetch.answered(request, ANSWER, 9, BACK_OFF) == (None, "")
    assert fetch.due_at(9) == 9
    assert asked(fetch, 9).session_epoch == 1


def test_with_nothing_to_fetch_no_fetch_is_due(fetch: OpenFetch, session: FetchSession) -> None:
    session.drop(PARTITION)
    assert (fetch.due_at(5), fetch.ask(5)) == (None, None)


def test_after_a_failure_all_is_fetched_in_another_session(fetch: OpenFetch) -> None:
    fetch.answered(asked(fetch, 0), ANSWER, 1, BACK_OFF)
    late = asked(fetch, 2)
    fetch.failed()
    assert fetch.answered(late, ANSWER, 3, BACK_OFF) == (None, "")
    request = asked(fetch, 3)
    assert (request.session_epoch, list(request.partitions)) == (0, [PARTITION])


def test_a_leader_that_forgets_a_session_at_its_beginning_is_asked_again_later(fetch: OpenFetch) -> None:
    lost = FetchResponse(error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, partitions={})
    assert fetch.answered(asked(fetch, 10), lost, 20, BACK_OFF) == (None, "")
    assert (fetch.due_at(20), fetch.ask(20 + BACK_OFF - 1)) == (20 + BACK_OFF, None)
    fetch.answered(asked(fetch, 20 + BACK_OFF), ANSWER, 2_000, BACK_OFF)
    assert fetch.answered(asked(fetch, 2_000), lost, 2_001, BACK_OFF) == (None, "")
    assert fetch.due_at(2_001) == 2_001


@pytest.mark.parametrize("partitions", [{}, {PARTITION._replace(partition=9): FetchedPartition(ErrorCode.NONE, 0)}])
def test_a_leader_that_time_and_again_answers_at_once_without_news_is_asked_20_times_a_second(
    fetch: OpenFetch, partitions: dict[TopicPartition, FetchedPartition]
) -> None:
    nothing = FetchResponse(session_id=7, partitions=partitions)
    now, asked_at = 10, list[int]()
    fetch.answered(asked(fetch, now), ANSWER, now, BACK_OFF)
    for _ in range(7):
        now = fetch.due_at(now) or now
        asked_at.append(now)
        fetch.answered(asked(fetch, now), nothing, now + 1, BACK_OFF)
        now += 1
    assert asked_at == [10, 11, 12, 13, 63, 113, 163]
    fetch.answered(asked(fetch, 213), ANSWER, 214, BACK_OFF)
    assert fetch.due_at(214) == 214


def test_a_leader_that_waits_a_little_before_it_has_no_news_is_asked_at_once(fetch: OpenFetch) -> None:
    nothing = FetchResponse(session_id=7, partitions={})
    fetch.answered(asked(fetch, 0), ANSWER, 0, BACK_OFF)
    for now in range(0, 1_000, 50):
        fetch.answered(asked(fetch, now), nothing, now + 50, BACK_OFF)
        assert fetch.due_at(now + 50) == now + 50


@pytest.mark.parametrize(("asked_ms", "due_at"), [(1, 11), (300, 310)])
def test_over_its_quota_a_follower_is_silent_as_long_as_it_is_asked_to_be(
    fetch: OpenFetch, asked_ms: int, due_at: int
) -> None:
    over_quota = FetchResponse(throttle_time_ms=asked_ms, partitions={})
    assert fetch.answered(asked(fetch, 10), over_quota, 10, BACK_OFF) == (None, "")
    assert (fetch.due_at(10), fetch.ask(due_at - 1)) == (due_at, None)
    assert asked(fetch, due_at)
