"""DescribeTopicPartitions: topics page by page, with their eligible leader replicas (KIP-966)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from replication.records.codec.codec import Structs, codec_of, struct_type
from replication.records.codec.fields import (
    Bool,
    Int16,
    Int32,
    Int32s,
    OptionalInt32s,
    OptionalString,
    String,
    nullable,
)
from replication.wire.error_code import code_of
from replication.wire.messages.field_types import OptionalUuid
from replication.wire.messages.form import Form
from replication.wire.messages.metadata import PartitionMetadata, TopicMetadata
from replication.wire.messages.request import Request


class Cursor(NamedTuple):
    """Where the next page begins."""

    topic: String
    partition: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitionsPage:
    """The answer to a DescribeTopicPartitionsRequest (Kafka: DescribeTopicPartitionsResponse)."""

    topics: Mapping[str, TopicMetadata]
    """In order of their names; the first and the last may go on in other pages."""
    next_cursor: Cursor | None
    """None on the last page."""
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTopicPartitionsRequest(Request[TopicPartitionsPage]):
    """Asks about topics by name (Kafka: DescribeTopicPartitionsRequest)."""

    topics: tuple[str, ...] = ()
    """Empty: all that there are."""
    cursor: Cursor | None = None
    """None: from the beginning."""
    partition_limit: int = 2_000
    """How many partitions a page may have; brokers have a limit of their own (Kafka: response_partition_limit)."""


API_KEY: Final = 75
VERSIONS: Final = range(1)


_CURSOR: Final = nullable(struct_type(codec_of(Cursor, 0)))


class _RequestTopic(NamedTuple):
    name: String


class _Request(NamedTuple):
    topics: Annotated[tuple[_RequestTopic, ...], Structs(_RequestTopic)]
    partition_limit: Int32
    cursor: Annotated[Cursor | None, _CURSOR]


class _Partition(NamedTuple):
    error: Int16
    partition: Int32
    leader_id: Int32
    leader_epoch: Int32
    replicas: Int32s
    isr: Int32s
    elr: OptionalInt32s
    last_known_elr: OptionalInt32s
    offline: Int32s


class _Topic(NamedTuple):
    error: Int16
    name: OptionalString
    id: OptionalUuid
    is_internal: Bool
    partitions: Annotated[tuple[_Partition, ...], Structs(_Partition)]
    authorized_operations: Int32


class _Response(NamedTuple):
    throttle_time_ms: Int32
    topics: Annotated[tuple[_Topic, ...], Structs(_Topic)]
    next_cursor: Annotated[Cursor | None, _CURSOR]


def _encode_request(request: DescribeTopicPartitionsRequest, _: int) -> _Request:
    return _Request(tuple(map(_RequestTopic, request.topics)), request.partition_limit, request.cursor)


def _decode_request(fields: _Request, _: int) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest(
        topics=tuple(topic.name for topic in fields.topics),
        cursor=fields.cursor,
        partition_limit=fields.partition_limit,
    )


def _encode_response(page: TopicPartitionsPage, _: int) -> _Response:
    topics = tuple(_encode_topic(name, topic) for name, topic in page.topics.items())
    return _Response(page.throttle_time_ms, topics, page.next_cursor)


def _encode_topic(name: str, topic: TopicMetadata) -> _Topic:
    partitions = tuple(
        _Partition(
            told.error,
            index,
            told.leader_id,
            told.leader_epoch,
            told.replicas,
            told.isr,
            told.elr,
            told.last_known_elr,
            told.offline,
        )
        for index, told in topic.partitions.items()
    )
    return _Topic(topic.error, name, topic.topic_id, topic.is_internal, partitions, topic.authorized_operations)


def _decode_response(fields: _Response, _: int) -> TopicPartitionsPage:
    return TopicPartitionsPage(
        topics={topic.name: _decode_topic(topic) for topic in fields.topics if topic.name is not None},
        next_cursor=fields.next_cursor,
        throttle_time_ms=fields.throttle_time_ms,
    )


def _decode_topic(topic: _Topic) -> TopicMetadata:
    return TopicMetadata(
        error=code_of(topic.error),
        topic_id=topic.id,
        is_internal=topic.is_internal,
        partitions={
            index: PartitionMetadata(code_of(error), leader, epoch, replicas, isr, offline, elr, last_known_elr)
            for error, index, leader, epoch, replicas, isr, elr, last_known_elr, offline in topic.partitions
        },
        authorized_operations=topic.authorized_operations,
    )


REQUEST: Final = Form("DescribeTopicPartitionsRequest", _Request, 0, _encode_request, _decode_request)
RESPONSE: Final = Form("DescribeTopicPartitionsResponse", _Response, 0, _encode_response, _decode_response)
