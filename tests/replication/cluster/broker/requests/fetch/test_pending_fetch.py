"""A fetch that finds too little waits for whatever may give it more, and polls nothing."""

import threading
import time
from collections.abc import Callable

import pytest

from logstore.log.state.waiters import ThreadWaiter
from replication.cluster.broker.requests.fetch.pending_fetch import PendingFetch
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchPartition, FetchResponse
from tests.replication.cluster.broker.requests.fetch.fetching import BY_NAME, MUCH, NEWEST, Client
from tests.replication.cluster.broker.requests.small_broker import (
    ELSEWHERE,
    EPOCH,
    ORDERS,
    UNKNOWN,
    SmallBroker,
    change_leader,
)

FOLLOWER = 2
VERSIONS = pytest.mark.parametrize("version", [BY_NAME, NEWEST])


class Waiting:
    """A connection that waits for the answer."""

    woken = 0

    def __init__(self, client: Client, offset: int = 1, **settings: int) -> None:
        pending = client.send({ORDERS: FetchPartition(offset, MUCH)}, max_wait_ms=60_000, **settings)
        assert isinstance(pending, PendingFetch)
        self.pending, self.client = pending, client
        pending.attend(self)
        assert pending.answer() is None

    def wake(self) -> None:
        self.woken += 1

    def told(self) -> FetchResponse:
        answer = self.pending.answer()
        assert answer is not None
        assert self.woken
        self.pending.leave(self)
        return self.client.read(answer)


@VERSIONS
def test_an_append_wakes_a_follower(broker: SmallBroker, version: int) -> None:
    broker.append(b"a")
    waiting = Waiting(Client(broker, version), replica_id=FOLLOWER)
    broker.append(b"b", commit=False)
    assert waiting.told().partitions[ORDERS].records


@VERSIONS
def test_the_high_watermark_wakes_a_consumer(broker: SmallBroker, version: int) -> None:
    broker.append(b"a")
    waiting = Waiting(Client(broker, version))
    broker.append(b"b", commit=False)
    assert waiting.pending.answer() is None
    broker.log.advance_high_watermark(2)
    assert waiting.told().partitions[ORDERS].records


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda broker: broker.log.truncate_to(0), ErrorCode.OFFSET_OUT_OF_RANGE),
        (lambda broker: broker.log.truncate_fully_and_start_at(9), ErrorCode.OFFSET_OUT_OF_RANGE),
        (lambda broker: change_leader(broker.partitions[ORDERS], 6, is_leader=True), ErrorCode.FENCED_LEADER_EPOCH),
        (lambda broker: broker.partitions.pop(ORDERS), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (lambda broker: broker.log.close(), ErrorCode.KAFKA_STORAGE_ERROR),
    ],
    ids=["truncation", "restart", "leader", "deletion", "close"],
)
def test_whatever_ends_it_wakes(broker: SmallBroker, change: Callable[[SmallBroker], object], error: ErrorCode) -> None:
    broker.append(b"a")
    client = Client(broker)
    pending = client.send({ORDERS: FetchPartition(1, MUCH, EPOCH)}, max_wait_ms=60_000)
    assert isinstance(pending, PendingFetch)
    waiter = ThreadWaiter()
    pending.attend(waiter)
    change(broker)
    assert waiter.wait(10)
    answer = pending.answer()
    assert answer is not None
    assert answer.partitions[ORDERS].error == error


def test_it_waits_for_as_many_bytes_as_it_wants(broker: SmallBroker) -> None:
    broker.append(b"a")
    waiting = Waiting(Client(broker), offset=0, min_bytes=2_000)
    broker.append(bytes(500))
    assert waiting.pending.answer() is None
    broker.append(bytes(2_000))
    assert len(waiting.told().partitions[ORDERS].records) > 2_000


def test_what_the_end_of_a_segment_keeps_from_it_is_not_waited_for(broker: SmallBroker) -> None:
    broker.append(b"a")
    broker.log.roll()
    broker.append(b"b")
    answer = Client(broker).send({ORDERS: FetchPartition(0, MUCH)}, max_wait_ms=60_000, min_bytes=2_000)
    assert isinstance(answer, FetchResponse)


def test_once_its_time_is_over_it_is_answered_with_what_there_is(broker: SmallBroker) -> None:
    broker.append(b"a")
    waiting = Waiting(Client(broker), offset=0, min_bytes=2_000)
    assert 50 < waiting.pending.deadline - time.monotonic() <= 60
    answer = waiting.pending.expire()
    assert answer.partitions[ORDERS].records


def test_an_error_is_not_waited_for_but_an_unknown_topic_beside_others_is(broker: SmallBroker) -> None:
    client = Client(broker)
    asked = FetchPartition(0, MUCH)
    assert isinstance(client.send({ORDERS: asked, ELSEWHERE: asked}, max_wait_ms=60_000), FetchResponse)
    assert isinstance(client.send({UNKNOWN: asked}, max_wait_ms=60_000), FetchResponse)
    assert isinstance(client.send({}, max_wait_ms=60_000), FetchResponse)
    assert isinstance(client.send({ORDERS: asked, UNKNOWN: asked}, max_wait_ms=60_000), PendingFetch)


def test_nobody_is_woken_who_has_left(broker: SmallBroker) -> None:
    waiting = Waiting(Client(broker), offset=0)
    waiting.pending.leave(waiting)
    broker.append(b"a")
    assert waiting.woken == 0


def test_a_thread_waits_without_polling(broker: SmallBroker) -> None:
    pending = Client(broker).send({ORDERS: FetchPartition(0, MUCH)}, max_wait_ms=60_000)
    assert isinstance(pending, PendingFetch)
    answers, looks = [], []

    def wait() -> None:
        waiter = ThreadWaiter()
        pending.attend(waiter)
        while (answer := pending.answer()) is None:
            looks.append(1)
            waiter.wait(60)
        answers.append(answer)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.2)
    assert len(looks) <= 1
    broker.append(b"a")
    thread.join(60)
    assert answers[0].partitions[ORDERS].records
