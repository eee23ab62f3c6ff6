"""Records are deleted everywhere before that is told: logs begin later at all replicas."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from replication.wire.encoding.kio_messages import request_classes
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.broker.requests.small_broker import ELSEWHERE, ORDERS, UNKNOWN
from tests.replication.cluster.broker.requests.writing.leading import FOLLOWER, LOG_CONFIG, WritingBroker, one_batch

DELETE_RECORDS = 21
HIGH_WATERMARK = -1
VERSIONS = pytest.mark.parametrize("version", range(3))


def request(offset: int, partition: Any = ORDERS, *, version: int = 2, timeout_ms: int = 1_000) -> Any:
    classes = request_classes(DELETE_RECORDS, version)
    asked = classes.DeleteRecordsPartition(partition_index=partition.partition, offset=offset)
    topic = classes.DeleteRecordsTopic(name=partition.topic, partitions=(asked,))
    return classes.DeleteRecordsRequest(topics=(topic,), timeout=timedelta(milliseconds=timeout_ms))


def delete(broker: WritingBroker, offset: int, partition: Any = ORDERS, version: int = 2) -> tuple[ErrorCode, int]:
    """Return the error and the low watermark."""
    return told(broker.exchange(DELETE_RECORDS, request(offset, partition, version=version), version))


def told(answer: Any) -> tuple[ErrorCode, int]:
    ((each,),) = [topic.partitions for topic in answer.topics]
    return ErrorCode(each.error_code), each.low_watermark


@pytest.fixture
def broker(broker: WritingBroker) -> WritingBroker:
    broker.produce(one_batch(5))
    return broker


@VERSIONS
def test_the_only_replica_begins_later_at_once(broker: WritingBroker, version: int) -> None:
    assert delete(broker, 2, version=version) == (ErrorCode.NONE, 2)
    assert delete(broker, 1, version=version) == (ErrorCode.NONE, 2)
    assert delete(broker, HIGH_WATERMARK, version=version) == (ErrorCode.NONE, 5)
    assert broker.log.log_start_offset == 5


@pytest.mark.parametrize("offset", [6, -2])
def test_nothing_is_deleted_beyond_what_consumers_can_read(broker: WritingBroker, offset: int) -> None:
    assert delete(broker, offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert broker.log.log_start_offset == 0


def test_the_other_replicas_are_waited_for(broker: WritingBroker) -> None:
    broker.lead(ORDERS, FOLLOWER)
    broker.follow(5)
    pending = broker.exchange(DELETE_RECORDS, request(3), 2)
    waiter = Waiter()
    pending.attend(waiter)
    assert pending.answer() is None
    broker.follow(5, log_start_offset=2)
    assert waiter.woken == 1
    assert pending.answer() is None
    broker.follow(5, log_start_offset=4)
    assert waiter.woken == 2
    assert told(pending.answer()) == (ErrorCode.NONE, 3)
    pending.leave(waiter)


def test_replicas_that_take_too_long_are_told_of_with_the_low_watermark(broker: WritingBroker) -> None:
    broker.lead(ORDERS, FOLLOWER)
    broker.follow(5, log_start_offset=1)
    pending = broker.exchange(DELETE_RECORDS, request(3, timeout_ms=0), 2)
    assert told(pending.expire()) == (ErrorCode.REQUEST_TIMED_OUT, 1)


def test_a_leader_that_is_none_any_more_says_so(broker: WritingBroker) -> None:
    broker.lead(ORDERS, FOLLOWER)
    broker.follow(5)
    pending = broker.exchange(DELETE_RECORDS, request(3), 2)
    broker.led.resign()
    broker.partitions[ORDERS].led = None
    assert told(pending.answer()) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


def test_who_does_not_lead_deletes_nothing(broker: WritingBroker) -> None:
    assert delete(broker, 1, ELSEWHERE) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert delete(broker, 1, UNKNOWN) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    broker.led.resign()
    assert delete(broker, 1) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    broker.partitions[ORDERS].led = None
    assert delete(broker, 1) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert broker.log.log_start_offset == 0


@pytest.mark.parametrize(
    ("policy", "error"),
    [({"compact"}, ErrorCode.POLICY_VIOLATION), ({"compact", "delete"}, ErrorCode.NONE), (set(), ErrorCode.NONE)],
    ids=["compact", "both", "neither"],
)
def test_what_is_only_compacted_is_kept(broker: WritingBroker, policy: set[str], error: ErrorCode) -> None:
    broker.lead(ORDERS, config=replace(LOG_CONFIG, cleanup_policy=frozenset(policy)))
    assert delete(broker, 1)[0] == error


class Waiter:
    """A connection that waits."""

    woken = 0

    def wake(self) -> None:
        self.woken += 1
