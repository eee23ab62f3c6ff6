"""What a broker answers to those who take it for a coordinator of transactions (Kafka: TransactionCoordinator)."""

from collections.abc import Callable
from typing import Any, Final

from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.wire.encoding.kio_messages import served_versions
from replication.wire.error_code import ErrorCode
from replication.wire.messages import add_partitions_to_txn, describe_transactions, list_transactions
from replication.wire.messages.add_partitions_to_txn import AddedPartitionsToTxn, AddPartitionsToTxnRequest
from replication.wire.messages.describe_transactions import (
    DescribedTransaction,
    DescribedTransactions,
    DescribeTransactionsRequest,
)
from replication.wire.messages.list_transactions import ListedTransactions, ListTransactionsRequest
from replication.wire.server.call import Call
from replication.wire.server.served_api import ServedApi, ServedApis

ADD_OFFSETS_TO_TXN: Final = 25
END_TXN: Final = 26
TXN_OFFSET_COMMIT: Final = 28
_ERROR: Final = ErrorCode.NOT_COORDINATOR
_STATES: Final = frozenset(
    {
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    }
)
"""Kafka: TransactionState."""


def transactions_elsewhere() -> ServedApis:
    """Return the APIs of a coordinator of nothing: producers look for theirs again, and it lists no transactions."""
    answers: dict[int, Callable[[Any, Call], Any]] = {
        add_partitions_to_txn.API_KEY: _add_partitions,
        ADD_OFFSETS_TO_TXN: lambda _, call: kio_answer(ADD_OFFSETS_TO_TXN, call.version, {"error_code": _ERROR}),
        END_TXN: lambda _, call: kio_answer(END_TXN, call.version, {"error_code": _ERROR}),
        TXN_OFFSET_COMMIT: _commit,
        describe_transactions.API_KEY: _describe,
        list_transactions.API_KEY: _list,
    }
    return {key: ServedApi(served_versions(key) or range(0), answer) for key, answer in answers.items()}


def _add_partitions(request: AddPartitionsToTxnRequest, _: Call) -> AddedPartitionsToTxn:
    every = request.transactions
    return AddedPartitionsToTxn(
        results={each.transactional_id: dict.fromkeys(each.partitions, _ERROR) for each in every}
    )


def _commit(request: Any, call: Call) -> Any:
    topics = [
        {
            "name": topic.name,
            "partitions": [
                {"partition_index": each.partition_index, "error_code": _ERROR} for each in topic.partitions
            ],
        }
        for topic in request.topics
    ]
    return kio_answer(TXN_OFFSET_COMMIT, call.version, {"topics": topics})


def _describe(request: DescribeTransactionsRequest, _: Call) -> DescribedTransactions:
    return DescribedTransactions(
        transactions=tuple(
            DescribedTransaction(_ERROR, transactional_id, "", 0, 0, 0, 0, frozenset())
            for transactional_id in request.transactional_ids
        )
    )


def _list(request: ListTransactionsRequest, _: Call) -> ListedTransactions:
    return ListedTransactions(unknown_states=tuple(state for state in request.states if state not in _STATES))
