"""DescribeTransactions: what a coordinator knows of transactional ids (KIP-664)."""

from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from logstore import TopicPartition
from replication.records.codec.codec import Structs
from replication.records.codec.fields import Int16, Int32, Int32s, Int64, String, Strings
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request


class DescribedTransaction(NamedTuple):
    """What a coordinator knows of a transactional id (Kafka: TransactionDescription)."""

    error: ErrorCode
    transactional_id: str
    state: str
    """Such as `Ongoing` or `CompleteCommit`."""
    timeout_ms: int
    start: int
    """When the transaction began, in milliseconds since 1970 UTC; -1 where none is open."""
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]
    """Those that it has written to and that have no marker yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTransactions:
    """The answer to a DescribeTransactionsRequest (Kafka: DescribeTransactionsResponse)."""

    transactions: tuple[DescribedTransaction, ...]
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTransactionsRequest(Request[DescribedTransactions]):
    """Asks the coordinator of transactional ids for what it knows (Kafka: DescribeTransactionsRequest)."""

    transactional_ids: tuple[str, ...]


API_KEY: Final = 65
VERSIONS: Final = range(1)


class _Request(NamedTuple):
    transactional_ids: Strings


class _Topic(NamedTuple):
    name: String
    partitions: Int32s


class _Transaction(NamedTuple):
    error: Int16
    transactional_id: String
    state: String
    timeout_ms: Int32
    start: Int64
    producer_id: Int64
    producer_epoch: Int16
    topics: Annotated[tuple[_Topic, ...], Structs(_Topic)]


class _Response(NamedTuple):
    throttle_time_ms: Int32
    transactions: Annotated[tuple[_Transaction, ...], Structs(_Transaction)]


def _encode_request(request: DescribeTransactionsRequest, _: int) -> _Request:
    return _Request(request.transactional_ids)


def _decode_request(fields: _Request, _: int) -> DescribeTransactionsRequest:
    return DescribeTransactionsRequest(transactional_ids=fields.transactional_ids)


def _encode_response(response: DescribedTransactions, _: int) -> _Response:
    return _Response(response.throttle_time_ms, tuple(map(_transaction, response.transactions)))


def _transaction(described: DescribedTransaction) -> _Transaction:
    topics = by_topic((partition, None) for partition in sorted(described.partitions))
    written = (_Topic(topic, tuple(index for index, _ in entries)) for topic, entries in topics.items())
    return _Transaction(*described[:-1], tuple(written))


def _decode_response(fields: _Response, _: int) -> DescribedTransactions:
    return DescribedTransactions(
        transactions=tuple(
            DescribedTransaction(
                code_of(each.error),
                *each[1:-1],
                frozenset(TopicPartition(topic, index) for topic, indexes in each.topics for index in indexes),
            )
            for each in fields.transactions
        ),
        throttle_time_ms=fields.throttle_time_ms,
    )


REQUEST: Final = Form("DescribeTransactionsRequest", _Request, 0, _encode_request, _decode_request)
RESPONSE: Final = Form("DescribeTransactionsResponse", _Response, 0, _encode_response, _decode_response)
