"""ListPartitionReassignments: which partitions move, from where to where (KIP-455)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from logstore import TopicPartition
from replication.records.codec.codec import Structs
from replication.records.codec.fields import Int16, Int32, Int32s, OptionalString, String
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request


class PartitionReassignment(NamedTuple):
    """A reassignment that goes on (Kafka: PartitionReassignment). Replicas are broker ids."""

    replicas: tuple[int, ...]
    """All that there are now: old and new ones."""
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedReassignments:
    """The answer to a ListPartitionReassignmentsRequest (Kafka: ListPartitionReassignmentsResponse)."""

    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    partitions: Mapping[TopicPartition, PartitionReassignment]
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPartitionReassignmentsRequest(Request[ListedReassignments]):
    """Asks for reassignments that go on (Kafka: ListPartitionReassignmentsRequest)."""

    timeout_ms: int = 30_000
    """How long the controller may take."""
    partitions: tuple[TopicPartition, ...] | None = None
    """None: all that there are."""


API_KEY: Final = 46
VERSIONS: Final = range(1)


class _AskedTopic(NamedTuple):
    name: String
    partitions: Int32s


class _Request(NamedTuple):
    timeout_ms: Int32
    topics: Annotated[tuple[_AskedTopic, ...] | None, Structs(_AskedTopic, optional=True)]


class _Partition(NamedTuple):
    partition: Int32
    replicas: Int32s
    adding: Int32s
    removing: Int32s


class _Topic(NamedTuple):
    name: String
    partitions: Annotated[tuple[_Partition, ...], Structs(_Partition)]


class _Response(NamedTuple):
    throttle_time_ms: Int32
    error: Int16
    error_message: OptionalString
    topics: Annotated[tuple[_Topic, ...], Structs(_Topic)]


def _encode_request(request: ListPartitionReassignmentsRequest, _: int) -> _Request:
    topics = by_topic((partition, None) for partition in request.partitions or ())
    asked = tuple(_AskedTopic(topic, tuple(index for index, _ in entries)) for topic, entries in topics.items())
    return _Request(request.timeout_ms, None if request.partitions is None else asked)


def _decode_request(fields: _Request, _: int) -> ListPartitionReassignmentsRequest:
    asked = tuple(TopicPartition(topic, index) for topic, indexes in fields.topics or () for index in indexes)
    return ListPartitionReassignmentsRequest(
        timeout_ms=fields.timeout_ms, partitions=None if fields.topics is None else asked
    )


def _encode_response(response: ListedReassignments, _: int) -> _Response:
    topics = tuple(
        _Topic(topic, tuple(_Partition(index, *moved) for index, moved in entries))
        for topic, entries in by_topic(response.partitions.items()).items()
    )
    return _Response(response.throttle_time_ms, response.error, response.error_message, topics)


def _decode_response(fields: _Response, _: int) -> ListedReassignments:
    return ListedReassignments(
        error=code_of(fields.error),
        error_message=fields.error_message,
        partitions={
            TopicPartition(topic, index): PartitionReassignment(*moved)
            for topic, partitions in fields.topics
            for index, *moved in partitions
        },
        throttle_time_ms=fields.throttle_time_ms,
    )


REQUEST: Final = Form("ListPartitionReassignmentsRequest", _Request, 0, _encode_request, _decode_request)
RESPONSE: Final = Form("ListPartitionReassignmentsResponse", _Response, 0, _encode_response, _decode_response)
