"""A transaction's first batch is appended only once its coordinator has confirmed the partition (KIP-890)."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from logstore import InvalidTransactionStateError, TopicPartition
from logstore.batch.batch import RecordBatch
from logstore.log.state.waiters import ThreadWaiter
from replication.cluster.broker.requests.writing.transaction_verification import AskedTransaction, TellRefused
from replication.wire.error_code import ErrorCode
from replication.wire.messages.produce import ProducedPartition, ProduceRequest, ProduceResponse
from replication.wire.messages.write_txn_markers import TransactionMarker, WriteTxnMarkersRequest
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.pending import NO_ANSWER, Pending
from tests.logstore.batches import TRANSACTIONAL
from tests.replication.cluster.broker.requests.small_broker import ORDERS, TOPIC, partition_record
from tests.replication.cluster.broker.requests.writing.leading import (
    BY_NAME,
    FOLLOWER,
    WritingBroker,
    by_name,
    one_batch,
)
from tests.replication.cluster.broker.requests.writing.test_pending_outcomes import Waiter
from tests.replication.cluster.broker.requests.writing.transactions import Coordinator

SECONDS = 30
OTHER = TopicPartition(TOPIC, 5)
PRODUCER = 9
MARKERS = 27


class Asked:
    """Keeps by what it is answered."""

    def __init__(self, tellers: list[TellRefused]) -> None:
        self._tellers = tellers

    def ask(self, _: AskedTransaction, tell: TellRefused) -> None:
        self._tellers.append(tell)


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()


@pytest.fixture
def broker(tmp_path: Path, coordinator: Coordinator) -> Iterator[WritingBroker]:
    leading = WritingBroker(tmp_path, verification=coordinator)
    leading.tell(partition_record(5, 1))
    leading.lead(OTHER)
    yield leading
    leading.close()


def sent(sequence: int, count: int = 1, *, epoch: int = 0, producer_id: int = PRODUCER) -> bytes:
    header = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence}
    return one_batch(count, attributes=TRANSACTIONAL, **header)


def ask(broker: WritingBroker, *partitions: TopicPartition, records: bytes | None = None, **settings: Any) -> Any:
    version = settings.pop("version", BY_NAME)
    data = sent(0) if records is None else records
    asked = {"acks": 1, "transactional_id": "t", **settings}
    return broker.send(ProduceRequest(partitions=dict.fromkeys(partitions or (ORDERS,), data), **asked), version)


def told(answer: Any, partition: TopicPartition = ORDERS) -> ProducedPartition:
    assert isinstance(answer, ProduceResponse)
    return by_name(answer).partitions[partition]


def end(broker: WritingBroker, *, commit: bool = True, epoch: int = 0, transaction_version: int = 0) -> ErrorCode:
    marker = TransactionMarker(PRODUCER, epoch, commit, (ORDERS,), transaction_version=transaction_version)
    answer = broker.exchange(MARKERS, WriteTxnMarkersRequest(markers=(marker,)), 2)
    error: ErrorCode = answer.results[PRODUCER][ORDERS]
    return error


def test_the_first_batch_waits_for_the_coordinator(broker: WritingBroker, coordinator: Coordinator) -> None:
    waiter = Waiter(ask(broker))
    assert broker.log.log_end_offset == 0
    assert coordinator.asked == [AskedTransaction("t", PRODUCER, 0, (ORDERS,), is_to_be_added=True)]
    coordinator.answer()
    assert waiter.woken
    assert told(waiter.pending.answer()) == ProducedPartition(ErrorCode.NONE, 0, -1, 0)


@pytest.mark.parametrize(("version", "is_added"), [(11, False), (12, True)])
def test_partitions_are_added_for_those_who_leave_that_to_the_leader(
    broker: WritingBroker, coordinator: Coordinator, version: int, is_added: bool
) -> None:
    ask(broker, version=version)
    assert [each.is_to_be_added for each in coordinator.asked] == [is_added]


def test_only_the_first_batch_of_a_transaction_is_asked_about(broker: WritingBroker, coordinator: Coordinator) -> None:
    begin(broker, coordinator)
    assert told(ask(broker, records=sent(1))).base_offset == 1
    assert len(coordinator.asked) == 1
    assert end(broker) == ErrorCode.NONE
    waiting = Waiter(ask(broker, records=sent(2)))
    coordinator.answer()
    assert told(waiting.pending.answer()).base_offset == 3


def test_partitions_are_asked_about_together_and_refused_each_for_itself(
    broker: WritingBroker, coordinator: Coordinator
) -> None:
    waiter = Waiter(ask(broker, ORDERS, OTHER))
    assert coordinator.asked[0].partitions == (ORDERS, OTHER)
    coordinator.answer({OTHER: ErrorCode.INVALID_TXN_STATE})
    answer = waiter.pending.answer()
    assert told(answer).error == ErrorCode.NONE
    assert told(answer, OTHER).error == ErrorCode.INVALID_TXN_STATE
    assert told(answer, OTHER).error_message
    assert broker.partitions[OTHER].log.log_end_offset == 0


@pytest.mark.parametrize(
    ("version", "error", "expected"),
    [
        (12, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_ENOUGH_REPLICAS),
        (12, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_ENOUGH_REPLICAS),
        (12, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_ENOUGH_REPLICAS),
        (11, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS),
        (12, ErrorCode.NETWORK_EXCEPTION, ErrorCode.NOT_ENOUGH_REPLICAS),
        (12, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
        (12, ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (11, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
        (10, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_a_coordinators_refusal_is_told_in_a_code_that_producers_know(
    broker: WritingBroker, coordinator: Coordinator, version: int, error: ErrorCode, expected: ErrorCode
) -> None:
    waiter = Waiter(ask(broker, version=version))
    coordinator.answer({ORDERS: error})
    assert told(waiter.pending.answer()).error == expected
    assert broker.log.log_end_offset == 0


def test_a_coordinator_that_is_ending_the_last_transaction_is_asked_again(
    broker: WritingBroker, coordinator: Coordinator
) -> None:
    waiter = Waiter(ask(broker, ORDERS, OTHER))
    before, waiter.woken = waiter.pending.deadline, 0
    coordinator.answer({OTHER: ErrorCode.CONCURRENT_TRANSACTIONS})
    assert waiter.woken
    assert waiter.pending.answer() is None
    assert waiter.pending.deadline < before
    assert waiter.pending.expire() is None
    assert coordinator.asked[1] == coordinator.asked[0]
    assert waiter.pending.deadline == before
    coordinator.answer()
    assert {each.error for each in waiter.pending.answer().partitions.values()} == {ErrorCode.NONE}


def test_what_its_last_transaction_keeps_waiting_for_too_long_the_producer_sends_again(
    broker: WritingBroker, coordinator: Coordinator
) -> None:
    waiter = Waiter(ask(broker))
    waiter.pending._ask_again_until = 0  # type: ignore[attr-defined]
    coordinator.answer({ORDERS: ErrorCode.CONCURRENT_TRANSACTIONS})
    assert told(waiter.pending.answer()).error == ErrorCode.CONCURRENT_TRANSACTIONS


def test_a_broker_without_coordinator_refuses_what_begins_a_transaction(tmp_path: Path) -> None:
    broker = WritingBroker(tmp_path)
    refused = told(ask(broker))
    assert (refused.error, refused.base_offset) == (ErrorCode.NOT_ENOUGH_REPLICAS, -1)
    assert "COORDINATOR_NOT_AVAILABLE" in (refused.error_message or "")
    assert broker.log.log_end_offset == 0
    broker.close()


def test_a_coordinator_that_takes_too_long_is_not_waited_for(broker: WritingBroker, coordinator: Coordinator) -> None:
    waiter = Waiter(ask(broker))
    assert told(waiter.pending.expire()).error == ErrorCode.NOT_ENOUGH_REPLICAS
    coordinator.answer()
    assert broker.log.log_end_offset == 0


def test_replicas_are_waited_for_after_the_coordinator(broker: WritingBroker, coordinator: Coordinator) -> None:
    broker.lead(ORDERS, FOLLOWER)
    waiter = Waiter(ask(broker, acks=-1))
    coordinator.answer()
    assert waiter.pending.answer() is None
    waiter.woken = 0
    broker.follow(1)
    assert waiter.woken
    assert waiter.told().error == ErrorCode.NONE


def test_a_coordinator_may_answer_in_any_thread(broker: WritingBroker, coordinator: Coordinator) -> None:
    pending, waiter = ask(broker), ThreadWaiter()
    pending.attend(waiter)
    thread = Thread(target=coordinator.answer)
    thread.start()
    assert waiter.wait(SECONDS)
    assert told(pending.answer()).error == ErrorCode.NONE
    thread.join()


def test_an_answer_that_comes_twice_counts_once(broker: WritingBroker) -> None:
    tellers: list[TellRefused] = []
    broker.seams["verification"] = Asked(tellers)
    pending = ask(broker)
    (tell,) = tellers
    tell({ORDERS: ErrorCode.INVALID_TXN_STATE})
    tell({})
    assert told(pending.answer()).error == ErrorCode.INVALID_TXN_STATE


def test_who_wants_no_answer_is_answered_by_none(broker: WritingBroker, coordinator: Coordinator) -> None:
    waiter = Waiter(ask(broker, acks=0))
    coordinator.answer()
    assert waiter.pending.answer() is NO_ANSWER
    assert broker.log.log_end_offset == 1
    waiter = Waiter(ask(broker, OTHER, acks=0))
    coordinator.answer({OTHER: ErrorCode.INVALID_TXN_STATE})
    with pytest.raises(HangUpError, match="INVALID_TXN_STATE"):
        waiter.pending.answer()


# --- the guard


def begin(broker: WritingBroker, coordinator: Coordinator) -> None:
    waiter: Pending = ask(broker)
    coordinator.answer()
    assert told(waiter.answer()).error == ErrorCode.NONE


@pytest.mark.parametrize(("version", "ended"), [(11, {"epoch": 0}), (12, {"epoch": 1, "transaction_version": 2})])
def test_an_answer_that_the_transactions_end_has_overtaken_opens_nothing(
    broker: WritingBroker, coordinator: Coordinator, version: int, ended: dict[str, int]
) -> None:
    waiter = Waiter(ask(broker, version=version))
    assert end(broker, commit=False, **ended) == ErrorCode.NONE
    coordinator.answer()
    refused = told(waiter.pending.answer())
    assert (refused.error, refused.base_offset) == (ErrorCode.INVALID_TXN_STATE, -1)
    assert broker.log.log_end_offset == 1  # the marker
    assert broker.log.last_stable_offset == broker.log.high_watermark


def test_an_old_answer_opens_no_later_transaction_either(broker: WritingBroker, coordinator: Coordinator) -> None:
    first = Waiter(ask(broker, version=11))
    end(broker, commit=False)
    second = Waiter(ask(broker, version=11))
    coordinator.answer()
    assert told(first.pending.answer()).error == ErrorCode.INVALID_TXN_STATE
    coordinator.answer()
    assert told(second.pending.answer()).error == ErrorCode.NONE


def test_the_end_of_a_transaction_does_not_end_the_next_which_has_its_epoch_already(
    broker: WritingBroker, coordinator: Coordinator
) -> None:
    begin(broker, coordinator)
    next_one = Waiter(ask(broker, records=sent(0, epoch=1)))
    assert end(broker, epoch=1, transaction_version=2) == ErrorCode.NONE
    coordinator.answer()
    assert told(next_one.pending.answer()).error == ErrorCode.NONE


def test_a_batch_whose_transaction_ended_just_before_it_is_appended_begins_no_other(
    broker: WritingBroker, coordinator: Coordinator
) -> None:
    begin(broker, coordinator)
    hosted, late = broker.partitions[ORDERS], RecordBatch(memoryview(sent(1)))
    guard = hosted.guards.ask(broker.led, hosted.log, late, opens_by_first=True)
    assert guard is None, "the transaction is open"
    end(broker)
    with pytest.raises(InvalidTransactionStateError):
        hosted.guards.append(broker.led, hosted.log, late, guard, required_acks=1)
    assert broker.log.log_end_offset == 2


def test_of_two_batches_that_wait_the_later_one_does_not_go_first(
    broker: WritingBroker, coordinator: Coordinator
) -> None:
    first, second = Waiter(ask(broker, records=sent(0))), Waiter(ask(broker, records=sent(1)))
    coordinator.answer()
    coordinator.answer()
    assert told(second.pending.answer()).error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert told(first.pending.answer()).error == ErrorCode.NONE
    assert told(ask(broker, records=sent(1))).error == ErrorCode.NONE


def test_a_transaction_of_an_epoch_of_its_own_begins_with_sequence_number_0(
    broker: WritingBroker, coordinator: Coordinator
) -> None:
    waiter = Waiter(ask(broker, records=sent(3)))
    coordinator.answer()
    assert told(waiter.pending.answer()).error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    older = Waiter(ask(broker, OTHER, records=sent(3), version=11))
    coordinator.answer()
    assert told(older.pending.answer(), OTHER).error == ErrorCode.NONE


def test_who_has_not_led_in_between_does_not_append(broker: WritingBroker, coordinator: Coordinator) -> None:
    waiter = Waiter(ask(broker))
    broker.led.resign()
    broker.lead(ORDERS)
    coordinator.answer()
    assert told(waiter.pending.answer()).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert broker.log.log_end_offset == 0


def test_what_is_sent_again_needs_no_guard(broker: WritingBroker, coordinator: Coordinator) -> None:
    begin(broker, coordinator)
    end(broker)
    waiter = Waiter(ask(broker))
    coordinator.answer()
    assert told(waiter.pending.answer()).base_offset == 0
    assert broker.log.log_end_offset == 2


def test_of_an_earlier_epoch_nobody_is_asked(broker: WritingBroker, coordinator: Coordinator) -> None:
    waiter = Waiter(ask(broker, records=sent(0, epoch=1)))
    coordinator.answer()
    assert told(waiter.pending.answer()).error == ErrorCode.NONE
    late = Waiter(ask(broker, ORDERS, OTHER))
    assert coordinator.asked[-1].partitions == (OTHER,)
    coordinator.answer()
    answer = late.pending.answer()
    assert told(answer) == ProducedPartition(ErrorCode.INVALID_PRODUCER_EPOCH)
    assert told(answer, OTHER).error == ErrorCode.NONE
    assert told(ask(broker)) == ProducedPartition(ErrorCode.INVALID_PRODUCER_EPOCH)


def test_guards_are_forgotten_as_their_producers_are(broker: WritingBroker) -> None:
    hosted = broker.partitions[ORDERS]
    now = [0.0]
    hosted.guards._clock = lambda: now[0]
    for number in range(10, 20):
        assert hosted.guards.ask(
            broker.led, hosted.log, RecordBatch(memoryview(sent(0, producer_id=number))), opens_by_first=True
        )
    assert len(hosted.guards) == 10
    now[0] = 86_401.0
    assert hosted.guards.ask(broker.led, hosted.log, RecordBatch(memoryview(sent(0))), opens_by_first=True)
    assert len(hosted.guards) == 1


# --- who may


def test_a_transactional_batch_needs_a_transactional_id(broker: WritingBroker) -> None:
    refused = told(ask(broker, transactional_id=None))
    assert refused == ProducedPartition(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def test_a_request_belongs_to_one_transaction(broker: WritingBroker) -> None:
    asked = {ORDERS: sent(0), OTHER: sent(0, producer_id=10)}
    answer = broker.send(ProduceRequest(partitions=asked, acks=1, transactional_id="t"), BY_NAME)
    assert {each.error for each in answer.partitions.values()} == {ErrorCode.INVALID_PRODUCER_ID_MAPPING}
