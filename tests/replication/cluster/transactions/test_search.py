"""Only a transaction of which it is certain that no coordinator will end it counts as hanging."""

from typing import Any

import pytest

from logstore import TopicPartition
from replication.cluster.transactions.ending import Ended, abort
from replication.cluster.transactions.search import search
from replication.transactions import Found, Verdict
from replication.wire.error_code import ErrorCode
from replication.wire.errors import RequestTimedOutError
from replication.wire.messages.describe_producers import ActiveProducer, DescribeProducersRequest
from replication.wire.messages.describe_transactions import DescribedTransaction, DescribeTransactionsRequest
from replication.wire.messages.list_transactions import ListTransactionsRequest
from replication.wire.messages.write_txn_markers import WriteTxnMarkersRequest
from tests.replication.cluster.transactions.told_brokers import ONE, TWO, ToldBrokers

ORDERS, OTHERS = TopicPartition("orders", 0), TopicPartition("orders", 1)
NOW = 1_800_000_000_000
OLD, YOUNG = NOW - 900_001, NOW - 900_000
OPEN = ActiveProducer(7, 3, 9, OLD, 2, 100)
IDLE = ActiveProducer(8, 0, 5, OLD, 2, -1)


def coordinated(state: str, *partitions: TopicPartition, producer_id: int = 7) -> DescribedTransaction:
    return DescribedTransaction(ErrorCode.NONE, "pay", state, 60_000, 0, producer_id, 3, frozenset(partitions))


def found(brokers: ToldBrokers, topic: str = "orders") -> Found:
    return brokers.answered(search(lambda name: name == topic, OLD + 1))


def verdict(brokers: ToldBrokers) -> tuple[Verdict, str]:
    [judged] = found(brokers).transactions
    return judged.verdict, judged.reason


def test_where_none_is_open_no_coordinator_is_asked() -> None:
    brokers = ToldBrokers({ORDERS: (IDLE,)})
    assert found(brokers) == Found((), ())
    assert {type(request) for _, request in brokers.asked[1:]} == {DescribeProducersRequest}


def test_each_partition_s_leader_is_asked_once_before_the_coordinators_and_once_after() -> None:
    brokers = ToldBrokers({ORDERS: (OPEN, IDLE)})
    assert [each.transaction.first_offset for each in found(brokers).hanging] == [100]
    assert [(broker, type(request)) for broker, request in brokers.asked[1:]] == [
        (ONE, DescribeProducersRequest),
        (TWO, DescribeProducersRequest),
        (ONE, ListTransactionsRequest),
        (TWO, ListTransactionsRequest),
        (ONE, DescribeProducersRequest),
    ]


@pytest.mark.parametrize("state", ["Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"])
def test_one_that_its_coordinator_will_end_is_not(state: str) -> None:
    brokers = ToldBrokers({ORDERS: (OPEN,)}, (coordinated(state, ORDERS),))
    assert verdict(brokers) == (Verdict.ONGOING, f"its coordinator has it as {state}")


@pytest.mark.parametrize(
    "known",
    [coordinated("CompleteCommit"), coordinated("CompleteAbort"), coordinated("Empty"), coordinated("Ongoing", OTHERS)],
)
def test_one_whose_coordinator_has_it_without_the_partition_is(known: DescribedTransaction) -> None:
    judged, reason = verdict(ToldBrokers({ORDERS: (OPEN._replace(last_timestamp=NOW),)}, (known,)))
    assert (judged, reason) == (
        Verdict.HANGING,
        f"its coordinator has pay as {known.state}, without this partition",
    )


@pytest.mark.parametrize(("timestamp", "expected"), [(OLD, Verdict.HANGING), (YOUNG, Verdict.UNPROVEN)])
def test_one_whose_producer_nobody_knows_is_once_it_is_older_than_transactions_become(
    timestamp: int, expected: Verdict
) -> None:
    known = (coordinated("Ongoing", ORDERS, producer_id=9),)
    assert verdict(ToldBrokers({ORDERS: (OPEN._replace(last_timestamp=timestamp),)}, known))[0] is expected


@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        ({"errors": {ListTransactionsRequest: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}}, "COORDINATOR_LOAD_IN_PROGRESS"),
        ({"errors": {DescribeTransactionsRequest: ErrorCode.NOT_COORDINATOR}}, "NOT_COORDINATOR"),
        ({"fails": {(ONE, ListTransactionsRequest): RequestTimedOutError("b1:9092", "x", 30)}}, "broker 1: "),
        ({"leaders": {"orders": (ONE, TWO), "__transaction_state": (TWO, -1)}}, "__transaction_state-1 has no leader"),
        ({"leaders": {"orders": (ONE, TWO), "__transaction_state": (TWO, 5)}}, "__transaction_state-1 has no leader"),
    ],
)
def test_nothing_is_certain_unless_all_coordinators_tell_what_they_know(trouble: Any, why: str) -> None:
    brokers = ToldBrokers({ORDERS: (OPEN,)}, (coordinated("CompleteCommit"),), **trouble)
    judged, reason = verdict(brokers)
    assert judged is Verdict.UNPROVEN
    assert why in reason
    assert any(why in str(gap) for gap in found(brokers).gaps)


def test_without_a_time_none_is_whose_producer_nobody_knows() -> None:
    brokers = ToldBrokers({ORDERS: (OPEN._replace(last_timestamp=0),)})
    [judged] = brokers.answered(search(lambda name: name == "orders")).transactions
    assert judged.verdict is Verdict.UNPROVEN
    assert judged.reason == "no coordinator knows its producer, or this user may not describe it"


def test_one_that_ends_meanwhile_is_not_told_of() -> None:
    brokers = ToldBrokers({ORDERS: (OPEN,)}, (coordinated("CompleteCommit"),), ends={6: {ORDERS: (IDLE,)}})
    assert found(brokers) == Found((), ())


def test_nor_is_one_in_whose_place_the_producer_has_begun_the_next() -> None:
    later = OPEN._replace(transaction_first_offset=200)
    brokers = ToldBrokers({ORDERS: (OPEN,)}, (coordinated("Ongoing", ORDERS),), ends={6: {ORDERS: (later,)}})
    assert found(brokers).transactions == ()


def test_where_a_leader_cannot_be_asked_again_it_is_unproven() -> None:
    brokers = ToldBrokers({ORDERS: (OPEN,)}, (coordinated("CompleteCommit"),))
    questions = search(lambda name: name == "orders", NOW)
    asks = 0

    def count() -> Any:
        nonlocal asks
        question = next(questions)
        while True:
            if isinstance(question.request, DescribeProducersRequest):
                asks += 1
            if asks == 3:
                question = questions.throw(RequestTimedOutError("b1:9092", "DescribeProducers", 30))
                asks += 1
            else:
                question = questions.send(brokers._answer(*question))

    with pytest.raises(StopIteration) as end:
        count()
    [judged] = end.value.value.transactions
    assert judged.verdict is Verdict.UNPROVEN


def test_what_cannot_be_looked_at_is_told() -> None:
    brokers = ToldBrokers(leaders={"orders": (ONE, -1), "__transaction_state": (TWO,)})
    brokers.errors = {DescribeProducersRequest: ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    gaps = [str(gap) for gap in found(brokers).gaps]
    assert gaps[0] == "orders-1: it has no leader"
    assert "TOPIC_AUTHORIZATION_FAILED" in gaps[1]
    silent = ToldBrokers(fails={(ONE, DescribeProducersRequest): RequestTimedOutError("b1:9092", "x", 30)})
    [gap] = found(silent).gaps
    assert gap.what == "what broker 1 leads"


def test_topics_that_were_deleted_meanwhile_are_no_gap() -> None:
    brokers = ToldBrokers(errors={DescribeProducersRequest: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
    assert found(brokers) == Found((), ())


def test_what_hung_before_and_hangs_still_is_what_both_have_found() -> None:
    brokers = ToldBrokers({ORDERS: (OPEN, OPEN._replace(producer_id=9)), OTHERS: (OPEN,)})
    before = found(brokers)
    brokers.producers[ORDERS] = (OPEN._replace(producer_id=9), OPEN._replace(transaction_first_offset=300))
    brokers.coordinated = (coordinated("Ongoing", OTHERS),)
    assert [each.transaction.producer_id for each in before.still_hanging(found(brokers))] == [9]


class TestEnding:
    def test_the_leader_writes_an_abort_marker_for_its_producer_and_is_asked_what_that_did(self) -> None:
        brokers = ToldBrokers({ORDERS: (OPEN, IDLE)})
        [hanging] = found(brokers).hanging
        brokers.asked.clear()
        assert brokers.answered(abort([hanging.transaction])) == (Ended(hanging.transaction),)
        [(leader, written), (again, _)] = brokers.asked
        assert isinstance(written, WriteTxnMarkersRequest)
        assert (leader, again) == (ONE, ONE)
        [marker] = written.markers
        assert (marker.producer_id, marker.producer_epoch, marker.is_commit) == (7, 3, False)
        assert (marker.partitions, marker.coordinator_epoch, marker.transaction_version) == ((ORDERS,), 2, 0)
        assert found(brokers).transactions == ()

    def test_where_no_coordinator_has_written_there_yet_the_first_epoch_is_given(self) -> None:
        brokers = ToldBrokers({ORDERS: (OPEN._replace(coordinator_epoch=-1),)})
        [hanging] = found(brokers).hanging
        brokers.answered(abort([hanging.transaction]))
        [marker] = next(request for _, request in brokers.asked if isinstance(request, WriteTxnMarkersRequest)).markers
        assert marker.coordinator_epoch == 0

    def test_one_that_is_refused_or_unanswered_keeps_no_other_from_its_end(self) -> None:
        brokers = ToldBrokers({ORDERS: (OPEN,), OTHERS: (OPEN,)})
        hanging = [each.transaction for each in found(brokers).hanging]
        brokers.fails = {(ONE, WriteTxnMarkersRequest): RequestTimedOutError("b1:9092", "WriteTxnMarkers", 30)}
        first, second = brokers.answered(abort(hanging))
        assert "WriteTxnMarkers" in str(first.error)
        assert second.error is None
        brokers.producers[OTHERS] = (OPEN,)
        brokers.errors = {WriteTxnMarkersRequest: ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
        assert "CLUSTER_AUTHORIZATION_FAILED" in str(brokers.answered(abort(hanging))[1].error)
