"""A leader ends transactions as their coordinator asks, and waits until that is replicated."""

from typing import Any

import pytest

from logstore import BatchTemplate, Isolation, Record, TopicPartition
from replication.wire.error_code import ErrorCode
from replication.wire.messages.write_txn_markers import TransactionMarker, WriteTxnMarkersRequest
from tests.replication.cluster.broker.requests.small_broker import ELSEWHERE, EPOCH, ORDERS, TOPIC, UNKNOWN
from tests.replication.cluster.broker.requests.writing.leading import FOLLOWER, WritingBroker

MARKERS = 27
OTHER = TopicPartition(TOPIC, 5)
VERSIONS = pytest.mark.parametrize("version", [1, 2])


def write(broker: WritingBroker, *markers: TransactionMarker, version: int = 2) -> Any:
    answer = broker.exchange(MARKERS, WriteTxnMarkersRequest(markers=markers), version)
    return answer if hasattr(answer, "attend") else answer.results


def begin(broker: WritingBroker, partition: TopicPartition = ORDERS, *, producer_id: int = 9, epoch: int = 3) -> None:
    template = BatchTemplate(producer_id=producer_id, producer_epoch=epoch, base_sequence=0, is_transactional=True)
    log: Any = broker.partitions[partition].log
    log.append([Record.of(b"v", timestamp=1_000)], leader_epoch=EPOCH, template=template)


@VERSIONS
@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_ends_the_transaction(broker: WritingBroker, version: int, is_commit: bool) -> None:
    begin(broker)
    assert broker.log.last_stable_offset == 0
    told = write(broker, TransactionMarker(9, 3, is_commit, (ORDERS,), 7), version=version)
    assert told == {9: {ORDERS: ErrorCode.NONE}}
    assert broker.log.last_stable_offset == 2
    (producer,) = broker.log.producers
    assert (producer.coordinator_epoch, producer.has_transaction()) == (7, False)
    aborted = broker.log.read(0, 1 << 20, isolation=Isolation.READ_COMMITTED).aborted_transactions
    assert [each.first_offset for each in aborted] == ([] if is_commit else [0])


def test_each_marker_and_each_partition_is_answered_for_itself(broker: WritingBroker) -> None:
    broker.lead(OTHER)
    begin(broker)
    begin(broker, OTHER, producer_id=10)
    broker.partitions[ELSEWHERE] = broker.host(ELSEWHERE, broker.open(TopicPartition(TOPIC, 1)))
    told = write(
        broker,
        TransactionMarker(9, 3, True, (ORDERS, ELSEWHERE, UNKNOWN), 7),
        TransactionMarker(10, 2, True, (OTHER,), 7),
        TransactionMarker(-1, 0, True, (ORDERS,), 7),
    )
    assert told == {
        9: {
            ORDERS: ErrorCode.NONE,
            ELSEWHERE: ErrorCode.NOT_LEADER_OR_FOLLOWER,
            UNKNOWN: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        },
        10: {OTHER: ErrorCode.INVALID_PRODUCER_EPOCH},
        -1: {ORDERS: ErrorCode.UNKNOWN_SERVER_ERROR},
    }
    assert broker.partitions[OTHER].log.log_end_offset == 1


def test_a_former_coordinator_is_fenced(broker: WritingBroker) -> None:
    begin(broker)
    write(broker, TransactionMarker(9, 3, True, (ORDERS,), 7))
    told = write(broker, TransactionMarker(9, 3, True, (ORDERS,), 6))
    assert told == {9: {ORDERS: ErrorCode.TRANSACTION_COORDINATOR_FENCED}}
    assert broker.log.log_end_offset == 2


def test_with_an_epoch_for_each_transaction_its_own_epoch_ends_none(broker: WritingBroker) -> None:
    begin(broker)
    told = write(broker, TransactionMarker(9, 3, True, (ORDERS,), 7, transaction_version=2))
    assert told == {9: {ORDERS: ErrorCode.INVALID_PRODUCER_EPOCH}}
    assert write(broker, TransactionMarker(9, 4, True, (ORDERS,), 7, transaction_version=2)) == {
        9: {ORDERS: ErrorCode.NONE}
    }


def test_replicas_in_sync_are_waited_for(broker: WritingBroker) -> None:
    begin(broker)
    broker.lead(ORDERS, FOLLOWER)
    pending = write(broker, TransactionMarker(9, 3, True, (ORDERS,), 7))
    assert pending.answer() is None
    broker.follow(2)
    assert pending.answer().results == {9: {ORDERS: ErrorCode.NONE}}
    late = write(broker, TransactionMarker(9, 3, True, (ORDERS,), 7))
    assert late.expire().results == {9: {ORDERS: ErrorCode.REQUEST_TIMED_OUT}}


def test_no_markers_are_no_work(broker: WritingBroker) -> None:
    assert write(broker) == {}
