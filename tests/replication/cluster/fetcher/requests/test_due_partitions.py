"""Which partitions a round looks at, and when the next one is worth it."""

import pytest

from logstore import TopicPartition
from replication.cluster.fetcher.requests.due_partitions import DuePartitions
from replication.cluster.fetcher.requests.throttle import WINDOW_MS, WINDOWS, Throttle

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
FREE_AGAIN = WINDOWS * WINDOW_MS


@pytest.fixture
def throttle() -> Throttle:
    """Exceeded from time 0 until FREE_AGAIN."""
    throttle = Throttle(100)
    throttle.record(FIRST, 10_000, 0)
    return throttle


def test_what_was_added_is_due_once() -> None:
    due = DuePartitions(None)
    due.add(FIRST)
    due.add(FIRST)
    assert due.wake_at(5) == 5
    assert list(due.due((), 5)) == [FIRST]
    assert list(due.due((), 5)) == []
    assert due.wake_at(5) is None


def test_what_is_delayed_is_due_at_its_time_and_no_earlier() -> None:
    due = DuePartitions(None)
    due.delay(FIRST, 20)
    due.delay(SECOND, 10)
    assert due.wake_at(0) == 10
    assert list(due.due((), 9)) == []
    assert list(due.due((), 10)) == [SECOND]
    assert due.wake_at(11) == 20
    assert list(due.due((), 25)) == [FIRST]


def test_an_exceeded_throttle_makes_all_that_is_fetched_due_once(throttle: Throttle) -> None:
    due = DuePartitions(throttle)
    assert sorted(due.due([FIRST, SECOND], 0)) == [FIRST, SECOND]
    assert due.throttling
    assert list(due.due([FIRST, SECOND], 1)) == []


def test_what_is_held_up_is_due_once_the_throttle_lets_it_through(throttle: Throttle) -> None:
    due = DuePartitions(throttle)
    assert list(due.due((), 0)) == []
    due.hold_up(FIRST)
    assert due.wake_at(1) == FREE_AGAIN
    assert list(due.due((), FREE_AGAIN - 1)) == []
    assert list(due.due((), FREE_AGAIN)) == [FIRST]
    assert not due.throttling
    assert due.wake_at(FREE_AGAIN) is None


def test_the_next_time_is_the_earliest(throttle: Throttle) -> None:
    due = DuePartitions(throttle)
    list(due.due((), 0))
    due.hold_up(FIRST)
    for time in (10, 5, 20):
        due.delay(SECOND, time)
    assert due.wake_at(1) == 5


def test_what_is_forgotten_is_neither_due_nor_held_up(throttle: Throttle) -> None:
    due = DuePartitions(throttle)
    list(due.due((), 0))
    due.add(FIRST)
    due.hold_up(FIRST)
    due.forget(FIRST)
    due.forget(SECOND)
    assert due.wake_at(1) is None
    assert list(due.due((), FREE_AGAIN)) == []
