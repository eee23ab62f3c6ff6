"""How much a throttle lets through."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.cluster.fetcher.decisions.fetch_state import FetchState
from replication.cluster.fetcher.requests.throttle import WINDOW_MS, WINDOWS, Throttle

PARTITION, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


def test_only_what_lags_waits() -> None:
    throttle = Throttle(100)
    assert throttle.limits(PARTITION, FetchState(0, 0, lag=5))
    assert throttle.limits(PARTITION, FetchState(0, 0, lag=None))
    assert not throttle.limits(PARTITION, FetchState(0, 0, lag=0))


def test_only_what_is_named_waits_and_counts() -> None:
    throttle = Throttle(100, {PARTITION})
    throttle.record(OTHER, 10**9, 0)
    assert not throttle.limits(OTHER, FetchState(0, 0, lag=5))
    assert not throttle.is_exceeded(0)
    throttle.record(PARTITION, 10**9, 0)
    assert throttle.is_exceeded(0)


def test_what_was_not_used_of_the_last_windows_may_be_used_at_once() -> None:
    throttle = Throttle(100)
    throttle.record(PARTITION, 100 * (WINDOWS - 1), 0)
    assert not throttle.is_exceeded(0)
    throttle.record(PARTITION, 1, 5)
    assert throttle.free_at(5) == WINDOWS * WINDOW_MS


def test_a_rate_may_change_at_any_time_and_be_none() -> None:
    throttle = Throttle(None)
    throttle.record(PARTITION, 10**9, 0)
    assert not throttle.is_exceeded(0)
    for rate, is_exceeded in ((0, True), (10**9, False), (100, True), (None, False)):
        throttle.bytes_per_second = rate
        assert throttle.is_exceeded(5) is is_exceeded
    throttle.bytes_per_second = 0
    assert not throttle.is_exceeded(WINDOWS * WINDOW_MS)


def test_what_counts_no_more_is_not_kept_though_nobody_asks() -> None:
    throttle = Throttle(None)
    for second in range(5 * WINDOWS):
        throttle.record(PARTITION, 1, second * WINDOW_MS)
        assert len(throttle._windows) <= WINDOWS


@pytest.mark.parametrize(("rate", "windows"), [(0, 11), (-1, 11), (5, 1)])
def test_a_rate_that_lets_nothing_through_is_refused(rate: int, windows: int) -> None:
    with pytest.raises(ValueError, match="at least 1 and 2 are needed"):
        Throttle(rate, windows=windows)


def test_a_byte_in_a_second_is_a_rate() -> None:
    assert Throttle(1, windows=2).bytes_per_second == 1


@given(st.lists(st.tuples(st.integers(1, 500), st.integers(0, 1_500)), max_size=30), st.integers(2, 5))
def test_it_is_free_once_the_windows_that_still_count_keep_the_rate(
    fetches: list[tuple[int, int]], windows: int
) -> None:
    rate, now = 100, 0
    span = windows * WINDOW_MS
    throttle = Throttle(rate, windows=windows)
    ends: list[tuple[int, int]] = []
    for size, pause in fetches:
        now += pause
        throttle.record(PARTITION, size, now)
        ends.append((now // WINDOW_MS * WINDOW_MS + span, size))

        def is_kept(at: int) -> bool:
            return sum(size for end, size in ends if end > at) <= rate * (windows - 1)

        assert throttle.free_at(now) == next(at for at in (now, *(end for end, _ in ends)) if at >= now and is_kept(at))


@given(st.lists(st.tuples(st.integers(1, 500), st.integers(0, 700)), max_size=60), st.integers(2, 12))
def test_who_waits_while_it_is_exceeded_keeps_the_rate(fetches: list[tuple[int, int]], windows: int) -> None:
    """In any stretch of all windows but the one under way, no more than the rate and one answer of each window."""
    rate, largest, now = 100, 500, 0
    throttle = Throttle(rate, windows=windows)
    fetched: list[tuple[int, int]] = []
    for size, pause in fetches:
        now = max(now + pause, throttle.free_at(now + pause))
        assert not throttle.is_exceeded(now)
        throttle.record(PARTITION, size, now)
        fetched.append((now, size))
    span = (windows - 1) * WINDOW_MS
    for start, _ in fetched:
        assert sum(size for at, size in fetched if start <= at < start + span) <= rate * span // 1_000 + largest
