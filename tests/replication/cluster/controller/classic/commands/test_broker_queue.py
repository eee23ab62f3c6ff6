"""The commands for one broker: each is answered before the next is sent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.cluster.controller.classic.commands.broker_queue import RETRY_MS, BrokerQueue
from replication.cluster.controller.classic.commands.commands import Command, UpdateMetadataRequest


def command(number: int) -> Command:
    return UpdateMetadataRequest(1, number, 1, {}, ())


@pytest.fixture
def queue() -> BrokerQueue:
    queue = BrokerQueue()
    for number in range(3):
        queue.add(command(number))
    return queue


def test_the_next_waits_for_the_answer_to_the_one_before(queue: BrokerQueue) -> None:
    assert queue.take(0) == command(0)
    assert queue.take(0) is None
    assert queue.answered() == command(0)
    assert queue.take(0) == command(1)


def test_what_is_not_answered_is_sent_again_a_little_later(queue: BrokerQueue) -> None:
    queue.take(0)
    queue.failed(7)
    assert queue.take(7 + RETRY_MS - 1) is None
    assert queue.take(7 + RETRY_MS) == command(0)


def test_an_answer_that_comes_too_late_answers_nothing(queue: BrokerQueue) -> None:
    queue.take(0)
    queue.failed(7)
    assert queue.answered() is None
    assert queue.take(7 + RETRY_MS) == command(0)


def test_nothing_is_sent_where_there_is_nothing_to_say() -> None:
    assert BrokerQueue().take(0) is None


@given(st.lists(st.booleans(), max_size=50))
def test_whatever_fails_the_order_stays(fails: list[bool]) -> None:
    queue, answered, now = BrokerQueue(), list[Command](), 0
    for number in range(10):
        queue.add(command(number))
    for fail in fails + [False] * 10:
        if queue.take(now) is None:
            break
        if fail:
            queue.failed(now)
            now = queue.retry_at
        else:
            answered.append(queue.answered())
    assert answered == [command(number) for number in range(10)]
    assert len(queue) == 0
