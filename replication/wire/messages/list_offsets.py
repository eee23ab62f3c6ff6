"""ListOffsets: a log's first and last offset, and the offset for a time (KIP-79, KIP-405)."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple

from logstore import TopicPartition
from replication.records.codec.codec import Since, Structs
from replication.records.codec.fields import Int8, Int16, Int32, Int64, String
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.form import Form
from replication.wire.messages.replica_id import CONSUMER
from replication.wire.messages.request import Request

LATEST: Final = -1
"""Instead of a time: the high watermark, as far as the asker may read (Kafka: LATEST_TIMESTAMP)."""

EARLIEST: Final = -2
"""Instead of a time: the log start offset (Kafka: EARLIEST_TIMESTAMP)."""

MAX_TIMESTAMP: Final = -3
"""Instead of a time: the offset of the record with the latest one (KIP-734; v7)."""

EARLIEST_LOCAL: Final = -4
"""Instead of a time: the first offset on the leader's own disk (KIP-405; v8)."""

LATEST_TIERED: Final = -5
"""Instead of a time: the last offset that is in tiered storage (KIP-1005; v9)."""

EARLIEST_PENDING_UPLOAD: Final = -6
"""Instead of a time: the first offset that tiered storage still lacks (KIP-1023; v11)."""

_TIMEOUT_MS: Final = 30_000


class OffsetQuestion(NamedTuple):
    """Asks for the first offset whose record has `timestamp` or a later one."""

    timestamp: int
    """Milliseconds since 1970 UTC, or one of the constants here."""
    current_leader_epoch: int = -1
    """The leader's epoch as the client knows it; a leader in another epoch refuses the request (KIP-320; v4)."""


class ListedOffset(NamedTuple):
    """The response for one partition (Kafka: ListOffsetsPartitionResponse)."""

    error: ErrorCode
    offset: int
    """-1 if there is none."""
    leader_epoch: int = -1
    """The epoch of the record there, or -1 where it is not sent (v4)."""
    timestamp: int = -1
    """Of the record found, where a time was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsResponse:
    """The response to a ListOffsetsRequest."""

    throttle_time_ms: int = 0
    partitions: Mapping[TopicPartition, ListedOffset]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsRequest(Request[ListOffsetsResponse]):
    """Asks for offsets of partitions, one each (Kafka: ListOffsetsRequest)."""

    partitions: Mapping[TopicPartition, OffsetQuestion]
    replica_id: int = CONSUMER
    isolation_level: int = 0
    """0: read uncommitted; 1: LATEST is the last stable offset."""
    timeout_ms: int = _TIMEOUT_MS
    """How long the leader may look in tiered storage (v10)."""
    repeated: Collection[TopicPartition] = ()
    """Partitions that the request names more than once, as only one that was read does; brokers refuse these."""


API_KEY: Final = 2
VERSIONS: Final = range(1, 12)

_FLEXIBLE_SINCE: Final = 6
SPECIAL_SINCE: Final[Mapping[int, int]] = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
"""The first version that knows each number that stands for a time; no other one is below 0."""


def list_offsets_versions(request: ListOffsetsRequest) -> range:
    """Return the versions that can carry a request: older ones do not know all that stands for a time."""
    first = max((SPECIAL_SINCE.get(asked.timestamp, 0) for asked in request.partitions.values()), default=0)
    return range(max(first, VERSIONS.start), VERSIONS.stop)


class _Question(NamedTuple):
    partition: Int32
    current_leader_epoch: Annotated[Int32, Since(4, ignorable=True)] = -1
    timestamp: Int64 = 0


class _Questions(NamedTuple):
    topic: String
    partitions: Annotated[tuple[_Question, ...], Structs(_Question)]


class _Request(NamedTuple):
    replica_id: Int32
    isolation_level: Annotated[Int8, Since(2, ignorable=True)] = 0
    topics: Annotated[tuple[_Questions, ...], Structs(_Questions)] = ()
    timeout_ms: Annotated[Int32, Since(10, ignorable=True)] = _TIMEOUT_MS


class _Answer(NamedTuple):
    partition: Int32
    error: Int16
    timestamp: Int64
    offset: Int64
    leader_epoch: Annotated[Int32, Since(4, ignorable=True)] = -1


class _Answers(NamedTuple):
    topic: String
    partitions: Annotated[tuple[_Answer, ...], Structs(_Answer)]


class _Response(NamedTuple):
    throttle_time_ms: Annotated[Int32, Since(2, ignorable=True)] = 0
    topics: Annotated[tuple[_Answers, ...], Structs(_Answers)] = ()


def _encode_request(request: ListOffsetsRequest, _: int) -> tuple[Any, ...]:
    topics = [
        (topic, [(index, asked.current_leader_epoch, asked.timestamp) for index, asked in questions])
        for topic, questions in by_topic(request.partitions.items()).items()
    ]
    return request.replica_id, request.isolation_level, topics, request.timeout_ms


def _decode_request(fields: _Request, _: int) -> ListOffsetsRequest:
    partitions = {
        TopicPartition(topic, index): OffsetQuestion(timestamp, current_leader_epoch)
        for topic, questions in fields.topics
        for index, current_leader_epoch, timestamp in questions
    }
    is_repeating = len(partitions) < sum(len(questions) for _, questions in fields.topics)
    return ListOffsetsRequest(
        partitions=partitions,
        replica_id=fields.replica_id,
        isolation_level=fields.isolation_level,
        timeout_ms=fields.timeout_ms,
        repeated=_repeated(fields) if is_repeating else (),
    )


def _repeated(fields: _Request) -> Collection[TopicPartition]:
    named = Counter(TopicPartition(topic, index) for topic, questions in fields.topics for index, _, _ in questions)
    return tuple(partition for partition, times in named.items() if times > 1)


def _encode_response(response: ListOffsetsResponse, _: int) -> tuple[Any, ...]:
    topics = [
        (topic, [(index, told.error, told.timestamp, told.offset, told.leader_epoch) for index, told in answers])
        for topic, answers in by_topic(response.partitions.items()).items()
    ]
    return response.throttle_time_ms, topics


def _decode_response(fields: _Response, _: int) -> ListOffsetsResponse:
    partitions = {
        TopicPartition(topic, index): ListedOffset(code_of(error), offset, leader_epoch, timestamp)
        for topic, answers in fields.topics
        for index, error, timestamp, offset, leader_epoch in answers
    }
    return ListOffsetsResponse(throttle_time_ms=fields.throttle_time_ms, partitions=partitions)


REQUEST: Final = Form("ListOffsetsRequest", _Request, _FLEXIBLE_SINCE, _encode_request, _decode_request)
RESPONSE: Final = Form("ListOffsetsResponse", _Response, _FLEXIBLE_SINCE, _encode_response, _decode_response)
