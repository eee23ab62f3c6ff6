"""AddPartitionsToTxn: have a coordinator add partitions to transactions, or say whether they are in them (KIP-890)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from logstore import TopicPartition
from replication.records.codec.codec import Since, Structs, Until
from replication.records.codec.fields import Bool, Int16, Int32, Int32s, Int64, String
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request


class TransactionPartitions(NamedTuple):
    """Partitions that a producer writes to in its transaction (Kafka: AddPartitionsToTxnTransaction)."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    verify_only: bool = False
    """Whether they are only looked up, for a producer that has had them added itself (v4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedPartitionsToTxn:
    """The answer to an AddPartitionsToTxnRequest (Kafka: AddPartitionsToTxnResponse)."""

    error: ErrorCode = ErrorCode.NONE
    """Of the whole request: single partitions have none then (v4)."""
    results: Mapping[str, Mapping[TopicPartition, ErrorCode]]
    """What became of each partition, by transactional id, which versions before 4 leave empty."""
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxnRequest(Request[AddedPartitionsToTxn]):
    """Asks the coordinator of transactions (Kafka: AddPartitionsToTxnRequest)."""

    transactions: tuple[TransactionPartitions, ...]
    """Each of another transactional id; clients, in versions before 4, have one."""


API_KEY: Final = 24
VERSIONS: Final = range(6)
BROKER_VERSIONS: Final = range(4, VERSIONS.stop)
"""Those of brokers, for which a coordinator demands CLUSTER_ACTION; earlier ones are clients'."""

_LAST_OF_CLIENTS: Final = BROKER_VERSIONS.start - 1
_FLEXIBLE_SINCE: Final = 3


def add_partitions_versions(request: AddPartitionsToTxnRequest) -> range:
    """Return the versions that can carry a request: of one transaction those of clients too, which only add."""
    is_clients = len(request.transactions) == 1 and not request.transactions[0].verify_only
    return VERSIONS if is_clients else BROKER_VERSIONS


class _Topic(NamedTuple):
    name: String
    partitions: Int32s


class _Transaction(NamedTuple):
    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    verify_only: Bool
    topics: Annotated[tuple[_Topic, ...], Structs(_Topic)]


class _Request(NamedTuple):
    transactions: Annotated[tuple[_Transaction, ...], Structs(_Transaction), Since(BROKER_VERSIONS.start)] = ()
    transactional_id: Annotated[String, Until(_LAST_OF_CLIENTS)] = ""
    producer_id: Annotated[Int64, Until(_LAST_OF_CLIENTS)] = -1
    producer_epoch: Annotated[Int16, Until(_LAST_OF_CLIENTS)] = -1
    topics: Annotated[tuple[_Topic, ...], Structs(_Topic), Until(_LAST_OF_CLIENTS)] = ()


class _Result(NamedTuple):
    partition: Int32
    error: Int16


class _TopicResults(NamedTuple):
    name: String
    results: Annotated[tuple[_Result, ...], Structs(_Result)]


class _TransactionResults(NamedTuple):
    transactional_id: String
    topics: Annotated[tuple[_TopicResults, ...], Structs(_TopicResults)]


class _Response(NamedTuple):
    throttle_time_ms: Int32
    error: Annotated[Int16, Since(BROKER_VERSIONS.start, ignorable=True)] = 0
    transactions: Annotated[
        tuple[_TransactionResults, ...], Structs(_TransactionResults), Since(BROKER_VERSIONS.start)
    ] = ()
    topics: Annotated[tuple[_TopicResults, ...], Structs(_TopicResults), Until(_LAST_OF_CLIENTS)] = ()


def _encode_request(request: AddPartitionsToTxnRequest, version: int) -> _Request:
    transactions = tuple(map(_transaction, request.transactions))
    if version in BROKER_VERSIONS:
        return _Request(transactions)
    ((transactional_id, producer_id, producer_epoch, _, topics),) = transactions
    return _Request((), transactional_id, producer_id, producer_epoch, topics)


def _transaction(asked: TransactionPartitions) -> _Transaction:
    topics = by_topic((partition, None) for partition in asked.partitions)
    written = tuple(_Topic(topic, tuple(index for index, _ in entries)) for topic, entries in topics.items())
    return _Transaction(*asked[:3], asked.verify_only, written)


def _decode_request(fields: _Request, version: int) -> AddPartitionsToTxnRequest:
    every = fields.transactions
    if version not in BROKER_VERSIONS:
        every = (_Transaction(*fields[1:4], False, fields.topics),)
    return AddPartitionsToTxnRequest(
        transactions=tuple(
            TransactionPartitions(
                *each[:3],
                tuple(TopicPartition(topic, index) for topic, indexes in each.topics for index in indexes),
                each.verify_only,
            )
            for each in every
        )
    )


def _encode_response(response: AddedPartitionsToTxn, version: int) -> _Response:
    told = tuple(_TransactionResults(each, _topic_results(results)) for each, results in response.results.items())
    if version in BROKER_VERSIONS:
        return _Response(response.throttle_time_ms, response.error, told)
    return _Response(response.throttle_time_ms, topics=told[0].topics if told else ())


def _topic_results(results: Mapping[TopicPartition, ErrorCode]) -> tuple[_TopicResults, ...]:
    topics = by_topic(results.items()).items()
    return tuple(_TopicResults(topic, tuple(_Result(*each) for each in entries)) for topic, entries in topics)


def _decode_response(fields: _Response, version: int) -> AddedPartitionsToTxn:
    every = fields.transactions if version in BROKER_VERSIONS else (_TransactionResults("", fields.topics),)
    return AddedPartitionsToTxn(
        error=code_of(fields.error),
        results={transactional_id: _results(topics) for transactional_id, topics in every},
        throttle_time_ms=fields.throttle_time_ms,
    )


def _results(topics: Iterable[_TopicResults]) -> dict[TopicPartition, ErrorCode]:
    return {TopicPartition(topic, index): code_of(error) for topic, results in topics for index, error in results}


REQUEST: Final = Form("AddPartitionsToTxnRequest", _Request, _FLEXIBLE_SINCE, _encode_request, _decode_request)
RESPONSE: Final = Form("AddPartitionsToTxnResponse", _Response, _FLEXIBLE_SINCE, _encode_response, _decode_response)
