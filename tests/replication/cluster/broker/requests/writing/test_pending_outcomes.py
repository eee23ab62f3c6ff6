"""acks=all: the answer waits for the high watermark, is woken by it, and polls nothing."""

import pytest

from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import LeaderIdAndEpoch
from replication.wire.messages.produce import ProducedPartition, ProduceResponse
from replication.wire.server.pending import Pending
from tests.replication.cluster.broker.requests.small_broker import EPOCH, ORDERS, change_leader
from tests.replication.cluster.broker.requests.writing.leading import (
    FOLLOWER,
    WritingBroker,
    by_name,
    one_batch,
    request,
    shrink,
)

ALL = -1


class Waiter:
    """A connection that waits."""

    woken = 0

    def __init__(self, pending: Pending) -> None:
        self.pending = pending
        pending.attend(self)
        assert pending.answer() is None

    def wake(self) -> None:
        self.woken += 1

    def told(self, answer: ProduceResponse | None = None) -> ProducedPartition:
        answer = answer or self.pending.answer()
        assert isinstance(answer, ProduceResponse)
        self.pending.leave(self)
        return by_name(answer).partitions[ORDERS]


def test_the_only_replica_answers_at_once(broker: WritingBroker) -> None:
    assert broker.produce(one_batch(), acks=ALL) == ProducedPartition(ErrorCode.NONE, 0, -1, 0)


def test_it_waits_until_all_in_sync_have_fetched_beyond_it(broker: WritingBroker) -> None:
    broker.lead(ORDERS, FOLLOWER)
    waiter = Waiter(broker.pending(one_batch(2), acks=ALL))
    broker.follow(1)
    assert waiter.pending.answer() is None
    broker.follow(2)
    assert waiter.woken
    assert waiter.told() == ProducedPartition(ErrorCode.NONE, 0, -1, 0)
    assert not broker.partitions[ORDERS]._waiters
    assert not broker.log._contents.watermark_waiters


def test_it_is_not_woken_by_what_others_append(broker: WritingBroker) -> None:
    broker.lead(ORDERS, FOLLOWER)
    waiter = Waiter(broker.pending(one_batch(), acks=ALL))
    assert broker.produce(one_batch(), acks=1).error == ErrorCode.NONE
    assert not waiter.woken
    broker.follow(1)
    assert waiter.woken
    assert waiter.told().error == ErrorCode.NONE


def test_who_does_not_ask_for_the_others_does_not_wait_for_them(broker: WritingBroker) -> None:
    broker.lead(ORDERS, FOLLOWER)
    assert broker.produce(one_batch(), acks=1).error == ErrorCode.NONE
    assert broker.send(request(one_batch(), acks=0)) is None


def test_what_takes_too_long_is_told_with_its_offset(broker: WritingBroker) -> None:
    broker.lead(ORDERS, FOLLOWER)
    waiter = Waiter(broker.pending(one_batch(), acks=ALL, timeout_ms=0))
    answer = waiter.pending.expire()
    assert waiter.told(answer) == ProducedPartition(ErrorCode.REQUEST_TIMED_OUT, 0, -1, 0)


def test_what_is_there_in_the_end_has_not_taken_too_long(broker: WritingBroker) -> None:
    broker.lead(ORDERS, FOLLOWER)
    waiter = Waiter(broker.pending(one_batch(), acks=ALL))
    broker.follow(1)
    assert waiter.told(waiter.pending.expire()).error == ErrorCode.NONE


def test_too_few_in_sync_refuse_before_anything_is_appended(broker: WritingBroker) -> None:
    broker.lead(ORDERS, FOLLOWER, min_insync_replicas=2)
    shrink(broker)
    told = broker.produce(one_batch(), acks=ALL)
    assert told == ProducedPartition(ErrorCode.NOT_ENOUGH_REPLICAS, log_start_offset=0)
    assert broker.log.log_end_offset == 0
    assert broker.produce(one_batch(), acks=1).error == ErrorCode.NONE


def test_too_few_in_sync_afterwards_are_told_once_the_rest_has_it(broker: WritingBroker) -> None:
    broker.lead(ORDERS, FOLLOWER, min_insync_replicas=2)
    waiter = Waiter(broker.pending(one_batch(), acks=ALL))
    shrink(broker)
    assert waiter.pending.answer() is None  # the high watermark stands still
    broker.log.advance_high_watermark(1)
    assert waiter.woken
    assert waiter.told().error == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


@pytest.mark.parametrize("version", [9, 12])
def test_a_leader_that_is_none_any_more_tells_who_is(broker: WritingBroker, version: int) -> None:
    broker.lead(ORDERS, FOLLOWER)
    waiter = Waiter(broker.pending(one_batch(), acks=ALL, version=version))
    hosted = broker.partitions[ORDERS]
    hosted.led = None
    change_leader(hosted, EPOCH + 1, is_leader=False)
    broker.led.resign()
    assert waiter.woken
    told = waiter.told()
    leader = LeaderIdAndEpoch(1, EPOCH + 1) if version >= 10 else None
    assert told == ProducedPartition(ErrorCode.NOT_LEADER_OR_FOLLOWER, 0, -1, 0, current_leader=leader)


def test_a_partition_that_is_led_again_has_not_replicated_what_may_be_cut_off(broker: WritingBroker) -> None:
    broker.lead(ORDERS, FOLLOWER)
    waiter = Waiter(broker.pending(one_batch(), acks=ALL))
    broker.led.resign()
    broker.log.truncate_to(0)
    broker.lead(ORDERS)
    broker.produce(one_batch())
    assert waiter.told().error == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_partition_that_is_taken_away_is_unknown_or_led_elsewhere(broker: WritingBroker) -> None:
    broker.lead(ORDERS, FOLLOWER)
    waiter = Waiter(broker.pending(one_batch(), acks=ALL))
    hosted = broker.partitions.pop(ORDERS)
    assert waiter.woken
    assert waiter.told().error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    broker.partitions[ORDERS] = hosted
