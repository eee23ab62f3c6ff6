"""A leader tells where epochs ended, to those who believe in its own epoch."""

import pytest

from epoch import UNDEFINED_END_OFFSET, EndOffset
from logstore import TopicPartition
from replication.cluster.broker.requests.epoch_ends import EpochEnds
from replication.wire.error_code import ErrorCode
from replication.wire.messages.offset_for_leader_epoch import (
    EpochAnswer,
    EpochQuestion,
    OffsetForLeaderEpochRequest,
)
from tests.replication.cluster.broker.requests.small_broker import (
    ELSEWHERE,
    EPOCH,
    ORDERS,
    UNKNOWN,
    SmallBroker,
    call,
    change_leader,
)


def ask(broker: SmallBroker, leader_epoch: int, current: int = -1, partition: TopicPartition = ORDERS) -> EpochAnswer:
    request = OffsetForLeaderEpochRequest(partitions={partition: EpochQuestion(current, leader_epoch)})
    return EpochEnds(broker.lookup).answer(request, call(4)).partitions[partition]


@pytest.mark.parametrize(
    ("asked", "end"),
    [
        (2, EndOffset(2, 0)),
        (3, EndOffset(3, 2)),
        (4, EndOffset(3, 2)),
        (5, EndOffset(5, 3)),
        (6, UNDEFINED_END_OFFSET),
        (-1, UNDEFINED_END_OFFSET),
        (-2, EndOffset(-2, 0)),
    ],
)
def test_an_epoch_ends_where_the_next_one_begins(broker: SmallBroker, asked: int, end: EndOffset) -> None:
    broker.append(b"a", b"b", leader_epoch=3)
    broker.append(b"c", leader_epoch=5)
    assert ask(broker, asked) == EpochAnswer(ErrorCode.NONE, end)


def test_the_latest_epoch_ends_at_the_logs_end_and_not_at_the_high_watermark(broker: SmallBroker) -> None:
    broker.append(b"a", b"b", commit=False)
    assert ask(broker, EPOCH).end == EndOffset(EPOCH, 2)


@pytest.mark.parametrize(
    ("current", "error"),
    [
        (-1, ErrorCode.NONE),
        (EPOCH, ErrorCode.NONE),
        (EPOCH - 1, ErrorCode.FENCED_LEADER_EPOCH),
        (-2, ErrorCode.FENCED_LEADER_EPOCH),
        (EPOCH + 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_who_believes_in_another_epoch_is_refused(broker: SmallBroker, current: int, error: ErrorCode) -> None:
    assert ask(broker, EPOCH, current).error == error


def test_only_the_leader_answers_and_says_so_before_it_says_who_leads(broker: SmallBroker) -> None:
    change_leader(broker.partitions[ORDERS], EPOCH, is_leader=False)
    assert ask(broker, EPOCH).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert ask(broker, EPOCH, EPOCH - 1).error == ErrorCode.FENCED_LEADER_EPOCH


def test_a_partition_without_a_copy_here_is_anothers_or_unknown_or_cannot_be_read(broker: SmallBroker) -> None:
    assert ask(broker, EPOCH, partition=ELSEWHERE).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert ask(broker, EPOCH, partition=UNKNOWN).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    broker.partitions.offline.add(ELSEWHERE)
    assert ask(broker, EPOCH, partition=ELSEWHERE).error == ErrorCode.KAFKA_STORAGE_ERROR
