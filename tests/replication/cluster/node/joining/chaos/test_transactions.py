"""Transactions end with a producer that is open, so that nothing keeps consumers from the end of the log."""

from collections.abc import Sequence
from random import Random

import pytest

from logstore import TopicPartition
from tests.replication.cluster.node.joining.chaos.transactions import ChaosTransactions
from tests.replication.cluster.node.joining.transactional_clients import NotDoneError


class Client:
    """Is refused as often as it is told to be each time that it is opened, and does all else."""

    def __init__(self, refusals: float) -> None:
        self.refusals = refusals

    def open(self) -> None:
        if self.refusals > 0:
            self.refusals -= 1
            raise NotDoneError("refused")

    def send(self, values: Sequence[str], to: TopicPartition) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...


def test_one_that_can_never_be_opened_is_told_after_a_while() -> None:
    transactions = ChaosTransactions(Client(float("inf")), TopicPartition("orders", 0), Random(1), seconds=0)
    transactions.start()
    with pytest.raises(AssertionError, match="orders-0: no producer could be opened"):
        transactions.stop()


def test_one_that_is_refused_first_is_opened_in_the_end() -> None:
    client = Client(2)
    transactions = ChaosTransactions(client, TopicPartition("orders", 0), Random(1))
    transactions.start()
    transactions.stop()
    assert client.refusals == 0


@pytest.mark.parametrize("visible", [["1-0", "1-1", "2-0", "3-0"], ["1-0", "1-1"], ["3-0"]])
def test_where_a_marker_is_missing_one_transaction_may_end_as_the_next(visible: list[str]) -> None:
    committed = ["1-0", "1-1", "3-0"]
    transactions = ChaosTransactions(Client(0), TopicPartition("orders", 0), Random(1), committed=committed)
    with pytest.raises(AssertionError, match="has not what was committed"):
        transactions.check(visible)
    transactions.check(visible, given_up=1)


@pytest.mark.parametrize("visible", [["1-0", "1-1", "2-0"], [], ["1-1", "3-0"], ["3-0", "1-0", "1-1"]])
def test_where_a_marker_is_missing_no_other_is_changed_none_by_half_and_none_overtaken(visible: list[str]) -> None:
    committed = ["1-0", "1-1", "3-0"]
    transactions = ChaosTransactions(Client(0), TopicPartition("orders", 0), Random(1), committed=committed)
    with pytest.raises(AssertionError, match="has not what was committed"):
        transactions.check(visible, given_up=1)
