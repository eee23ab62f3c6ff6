"""Every question is answered once, by what the coordinator says of its partitions, however they come together."""

import random
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.cluster.broker.requests.writing.transaction_verification import AskedTransaction
from replication.cluster.node.coordinators.question_queue import AskedQuestions, QuestionQueue
from replication.wire.error_code import ErrorCode
from replication.wire.messages.add_partitions_to_txn import AddedPartitionsToTxn, TransactionPartitions

PARTITIONS = [TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("payments", 0)]
ORDERS, _, PAYMENTS = PARTITIONS
ERRORS = [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE, ErrorCode.CONCURRENT_TRANSACTIONS]


class Teller:
    """What one question was answered."""

    def __init__(self) -> None:
        self.answers: list[Mapping[TopicPartition, ErrorCode]] = []

    def __call__(self, refused: Mapping[TopicPartition, ErrorCode]) -> None:
        self.answers.append(refused)


def asked(*partitions: TopicPartition, epoch: int = 0, adds: bool = True, name: str = "billing") -> AskedTransaction:
    return AskedTransaction(name, 7, epoch, partitions or (ORDERS,), adds)


def taken(queue: QuestionQueue) -> AskedQuestions:
    questions = queue.take()
    assert questions is not None
    return questions


@given(st.integers(0, 2**32))
def test_every_question_is_answered_once_by_its_own_partitions(seed: int) -> None:
    rng, queue = random.Random(seed), QuestionQueue()
    tellers: list[tuple[AskedTransaction, Teller]] = []
    under_way: list[AskedQuestions] = []
    for _ in range(rng.randrange(40)):
        if rng.random() < 0.7:
            partitions = rng.sample(PARTITIONS, rng.randint(1, 3))
            name, epoch = rng.choice(["a", "b", "c"]), rng.randrange(2)
            each = asked(*partitions, name=name, epoch=epoch, adds=rng.random() < 0.8)
            tellers.append((each, Teller()))
            queue.put(*tellers[-1])
        else:
            under_way += filter(None, [queue.take()])
    while (questions := queue.take()) is not None:
        under_way.append(questions)
    unanswered = list(tellers)
    for questions in under_way:
        request = questions.request()
        names = [transaction.transactional_id for transaction in request.transactions]
        assert len(names) == len(set(names)), "a transactional id may be named once"
        results = {
            each.transactional_id: {partition: rng.choice(ERRORS) for partition in each.partitions}
            for each in request.transactions
        }
        questions.answer(AddedPartitionsToTxn(results=results))
        ensure_answered(unanswered, request.transactions, results)
        unanswered = [(each, teller) for each, teller in unanswered if not teller.answers]
    assert unanswered == []
    assert all(len(teller.answers) == 1 for _, teller in tellers)


def ensure_answered(
    tellers: list[tuple[AskedTransaction, Teller]],
    transactions: tuple[TransactionPartitions, ...],
    results: Mapping[str, Mapping[TopicPartition, ErrorCode]],
) -> None:
    """Of each transactional id the first question is answered, and all like it, by what was said of its partitions."""
    sent = {transaction.transactional_id: transaction for transaction in transactions}
    for each, teller in tellers:
        transaction = sent.get(each.transactional_id)
        is_asked = transaction is not None and (each.producer_epoch, not each.is_to_be_added) == (
            transaction.producer_epoch,
            transaction.verify_only,
        )
        # One that came after the request had been made is not in it.
        assert is_asked or not teller.answers
        if teller.answers:
            told = {partition: teller.answers[0].get(partition, ErrorCode.NONE) for partition in each.partitions}
            assert told == {partition: results[each.transactional_id][partition] for partition in each.partitions}
    for name in sent:
        assert next(teller for each, teller in tellers if each.transactional_id == name).answers


def test_those_that_ask_for_the_same_transaction_are_answered_together() -> None:
    queue, first, second = QuestionQueue(), Teller(), Teller()
    queue.put(asked(ORDERS), first)
    queue.put(asked(PAYMENTS, ORDERS), second)
    questions = taken(queue)
    assert questions.request().transactions == (TransactionPartitions("billing", 7, 0, (ORDERS, PAYMENTS)),)
    questions.answer(AddedPartitionsToTxn(results={"billing": dict.fromkeys([ORDERS, PAYMENTS], ErrorCode.NONE)}))
    assert (first.answers, second.answers) == ([{}], [{}])
    assert queue.take() is None


@pytest.mark.parametrize("other", [asked(epoch=1), asked(adds=False)])
def test_another_transaction_of_the_same_id_waits_for_the_next_request(other: AskedTransaction) -> None:
    queue = QuestionQueue()
    queue.put(asked(), Teller())
    queue.put(other, Teller())
    queue.put(asked(name="shipping"), Teller())
    assert [each.transactional_id for each in taken(queue).request().transactions] == ["billing", "shipping"]
    (transaction,) = taken(queue).request().transactions
    assert (transaction.producer_epoch, transaction.verify_only) == (other.producer_epoch, not other.is_to_be_added)


@pytest.mark.parametrize(
    ("answered", "told"),
    [
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_an_error_of_the_whole_answer_refuses_all(answered: ErrorCode, told: ErrorCode) -> None:
    queue, first, second = QuestionQueue(), Teller(), Teller()
    queue.put(asked(ORDERS, PAYMENTS), first)
    queue.put(asked(name="shipping"), second)
    taken(queue).answer(AddedPartitionsToTxn(error=answered, results={}))
    assert first.answers == [{ORDERS: told, PAYMENTS: told}]
    assert second.answers == [{ORDERS: told}]


@pytest.mark.parametrize("results", [{}, {"billing": {}}, {"billing": {PAYMENTS: ErrorCode.NONE}}])
def test_what_the_coordinator_says_nothing_of_is_not_confirmed(
    results: Mapping[str, Mapping[TopicPartition, ErrorCode]],
) -> None:
    queue, teller = QuestionQueue(), Teller()
    queue.put(asked(ORDERS), teller)
    taken(queue).answer(AddedPartitionsToTxn(results=results))
    assert teller.answers == [{ORDERS: ErrorCode.UNKNOWN_SERVER_ERROR}]


def test_a_coordinator_that_knows_no_such_questions_is_done_without_unless_it_would_have_to_add() -> None:
    queue, adding, looking = QuestionQueue(), Teller(), Teller()
    queue.put(asked(name="new"), adding)
    queue.put(asked(name="old", adds=False), looking)
    taken(queue).unsupported()
    assert adding.answers == [{ORDERS: ErrorCode.UNSUPPORTED_VERSION}]
    assert looking.answers == [{}]


def test_nobody_waits_once_it_is_closed() -> None:
    queue, before, after = QuestionQueue(), Teller(), Teller()
    queue.put(asked(), before)
    queue.close()
    queue.put(asked(), after)
    assert before.answers == after.answers == [{ORDERS: ErrorCode.NETWORK_EXCEPTION}]
    assert queue.take() is None
