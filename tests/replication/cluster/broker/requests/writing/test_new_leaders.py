"""A new leader tells consumers of no end before it knows how far they have read under the one before (KIP-207)."""

import pytest

from replication.cluster.broker.requests.listed_offsets import ListedOffsets
from replication.wire.error_code import ErrorCode
from replication.wire.messages.list_offsets import (
    EARLIEST,
    LATEST,
    LATEST_TIERED,
    ListedOffset,
    ListOffsetsRequest,
    OffsetQuestion,
)
from replication.wire.messages.replica_id import CONSUMER
from tests.replication.cluster.broker.requests.small_broker import EPOCH, ORDERS, call
from tests.replication.cluster.broker.requests.writing.leading import FOLLOWER, WritingBroker

NEWEST = 11
NOT_YET = ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE, -1)


def ask(broker: WritingBroker, timestamp: int, *, version: int = NEWEST, replica_id: int = CONSUMER) -> ListedOffset:
    request = ListOffsetsRequest(partitions={ORDERS: OffsetQuestion(timestamp)}, replica_id=replica_id)
    return ListedOffsets(broker.lookup).answer(request, call(version)).partitions[ORDERS]


@pytest.fixture
def broker(broker: WritingBroker) -> WritingBroker:
    """Its log ends at 4, it has heard that 1 is replicated, and it has just begun to lead."""
    broker.append(b"a")
    broker.append(b"b", b"c", b"d", commit=False)
    broker.lead(ORDERS, FOLLOWER)
    return broker


def test_the_end_is_told_once_the_high_watermark_has_reached_the_epochs_start(broker: WritingBroker) -> None:
    assert ask(broker, LATEST) == NOT_YET
    broker.follow(3)
    assert ask(broker, LATEST) == NOT_YET
    broker.follow(4)
    assert ask(broker, LATEST) == ListedOffset(ErrorCode.NONE, 4, EPOCH)


def test_times_beyond_what_consumers_read_are_looked_for_later(broker: WritingBroker) -> None:
    assert ask(broker, 1_001) == NOT_YET
    assert ask(broker, 2**40) == NOT_YET
    assert ask(broker, 1_000).offset == 0
    assert ask(broker, EARLIEST).offset == 0
    assert ask(broker, LATEST_TIERED).error == ErrorCode.NONE


def test_older_consumers_know_another_code(broker: WritingBroker) -> None:
    assert ask(broker, LATEST, version=4).error == ErrorCode.LEADER_NOT_AVAILABLE
    assert ask(broker, LATEST, version=5).error == ErrorCode.OFFSET_NOT_AVAILABLE


def test_replicas_are_told_the_end_of_the_log(broker: WritingBroker) -> None:
    assert ask(broker, LATEST, replica_id=FOLLOWER) == ListedOffset(ErrorCode.NONE, 4, EPOCH)
