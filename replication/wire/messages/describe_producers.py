"""DescribeProducers: the producers that a partition's leader remembers, and their open transactions (KIP-664)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from logstore import TopicPartition
from replication.records.codec.codec import Structs
from replication.records.codec.fields import Int16, Int32, Int32s, Int64, OptionalString, String
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request


class ActiveProducer(NamedTuple):
    """What a leader remembers of a producer (Kafka: ProducerState)."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    """Of its last batch, in milliseconds since 1970 UTC."""
    coordinator_epoch: int
    """Of the coordinator that wrote its last marker; -1 where there is none."""
    transaction_first_offset: int
    """Where its open transaction begins; -1 where it has none."""


class DescribedPartition(NamedTuple):
    """The answer for one partition."""

    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    producers: tuple[ActiveProducer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedProducers:
    """The answer to a DescribeProducersRequest (Kafka: DescribeProducersResponse)."""

    partitions: Mapping[TopicPartition, DescribedPartition]
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeProducersRequest(Request[DescribedProducers]):
    """Asks the leader of partitions for their producers (Kafka: DescribeProducersRequest)."""

    partitions: tuple[TopicPartition, ...]


API_KEY: Final = 61
VERSIONS: Final = range(1)


class _AskedTopic(NamedTuple):
    name: String
    partitions: Int32s


class _Request(NamedTuple):
    topics: Annotated[tuple[_AskedTopic, ...], Structs(_AskedTopic)]


class _Producer(NamedTuple):
    producer_id: Int64
    producer_epoch: Int32
    last_sequence: Int32
    last_timestamp: Int64
    coordinator_epoch: Int32
    transaction_first_offset: Int64


class _Partition(NamedTuple):
    partition: Int32
    error: Int16
    error_message: OptionalString
    producers: Annotated[tuple[_Producer, ...], Structs(_Producer)]


class _Topic(NamedTuple):
    name: String
    partitions: Annotated[tuple[_Partition, ...], Structs(_Partition)]


class _Response(NamedTuple):
    throttle_time_ms: Int32
    topics: Annotated[tuple[_Topic, ...], Structs(_Topic)]


def _encode_request(request: DescribeProducersRequest, _: int) -> _Request:
    topics = by_topic((partition, None) for partition in request.partitions)
    asked = (_AskedTopic(topic, tuple(index for index, _ in entries)) for topic, entries in topics.items())
    return _Request(tuple(asked))


def _decode_request(fields: _Request, _: int) -> DescribeProducersRequest:
    asked = (TopicPartition(topic, index) for topic, indexes in fields.topics for index in indexes)
    return DescribeProducersRequest(partitions=tuple(asked))


def _encode_response(response: DescribedProducers, _: int) -> _Response:
    topics = tuple(
        _Topic(topic, tuple(_partition(index, described) for index, described in entries))
        for topic, entries in by_topic(response.partitions.items()).items()
    )
    return _Response(response.throttle_time_ms, topics)


def _partition(index: int, described: DescribedPartition) -> _Partition:
    producers = tuple(_Producer(*producer) for producer in described.producers)
    return _Partition(index, described.error, described.error_message, producers)


def _decode_response(fields: _Response, _: int) -> DescribedProducers:
    return DescribedProducers(
        partitions={
            TopicPartition(topic, index): DescribedPartition(
                code_of(error), message, tuple(ActiveProducer(*producer) for producer in producers)
            )
            for topic, partitions in fields.topics
            for index, error, message, producers in partitions
        },
        throttle_time_ms=fields.throttle_time_ms,
    )


REQUEST: Final = Form("DescribeProducersRequest", _Request, 0, _encode_request, _decode_request)
RESPONSE: Final = Form("DescribeProducersResponse", _Response, 0, _encode_response, _decode_response)
