"""ListOffsets: a log's first and last offset, and the offset for a time (KIP-79, KIP-405)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple

from logstore import TopicPartition
from replication.protocol.error_code import ErrorCode, code_of
from replication.protocol.messages.by_topic import by_topic
from replication.protocol.messages.replica_id import CONSUMER
from replication.protocol.messages.request import Request

LATEST: Final = -1
"""Instead of a time: the high watermark, as far as the asker may read (Kafka: LATEST_TIMESTAMP)."""

EARLIEST: Final = -2
"""Instead of a time: the log start offset (Kafka: EARLIEST_TIMESTAMP)."""

MAX_TIMESTAMP: Final = -3
"""Instead of a time: the offset of the record with the latest one (KIP-734; v7)."""

EARLIEST_LOCAL: Final = -4
"""Instead of a time: the first offset on the leader's own disk (KIP-405; v8)."""


class OffsetQuestion(NamedTuple):
    """Asks for the first offset whose record has `timestamp` or a later one."""

    timestamp: int
    """Milliseconds since 1970 UTC, or one of the constants here."""
    current_leader_epoch: int = -1
    """The epoch in which the asker believes the leader to lead; a leader in another refuses (KIP-320; v4)."""


class ListedOffset(NamedTuple):
    """The answer for one partition (Kafka: ListOffsetsPartitionResponse)."""

    error: ErrorCode
    offset: int
    """-1 where there is none."""
    leader_epoch: int = -1
    """The epoch of the record there, or -1 where it is not told (v4)."""
    timestamp: int = -1
    """Of the record found, where a time was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsResponse:
    """The answer to a ListOffsetsRequest."""

    throttle_time_ms: int = 0
    partitions: Mapping[TopicPartition, ListedOffset]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsRequest(Request[ListOffsetsResponse]):
    """Asks for offsets of partitions, one each (Kafka: ListOffsetsRequest)."""

    partitions: Mapping[TopicPartition, OffsetQuestion]
    replica_id: int = CONSUMER
    isolation_level: int = 0
    """0: read uncommitted; 1: LATEST is the last stable offset."""


API_KEY: Final = 2
VERSIONS: Final = range(1, 12)

_SINCE_ISOLATION: Final = 2
_SINCE_LEADER_EPOCH: Final = 4
_SINCE_TIMEOUT: Final = 10
_REMOTE_TIMEOUT: Final = timedelta(seconds=30)
"""How long the leader may look in tiered storage."""
_SPECIAL_SINCE: Final[Mapping[int, int]] = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8}


def list_offsets_versions(request: ListOffsetsRequest) -> range:
    """Return the versions that can carry a request: older ones do not know all that stands for a time."""
    first = max((_SPECIAL_SINCE.get(asked.timestamp, 0) for asked in request.partitions.values()), default=0)
    return range(max(first, VERSIONS.start), VERSIONS.stop)


def encode_list_offsets(request: ListOffsetsRequest, classes: Any) -> Any:
    """Return the request as one of kio's `classes`; what their version cannot say is left out, as Kafka does."""
    version = classes.ListOffsetsRequest.__version__
    fields: dict[str, Any] = {"isolation_level": request.isolation_level} if version >= _SINCE_ISOLATION else {}
    if version >= _SINCE_TIMEOUT:
        fields["timeout"] = _REMOTE_TIMEOUT
    topics = tuple(
        classes.ListOffsetsTopic(
            name=topic,
            partitions=tuple(_partition(classes.ListOffsetsPartition, *entry, version) for entry in entries),
        )
        for topic, entries in by_topic(request.partitions.items()).items()
    )
    return classes.ListOffsetsRequest(replica_id=request.replica_id, topics=topics, **fields)


def decode_list_offsets(payload: Any) -> ListOffsetsResponse:
    """Read kio's ListOffsetsResponse."""
    version = payload.__version__
    partitions = {
        TopicPartition(topic.name, answer.partition_index): ListedOffset(
            code_of(answer.error_code),
            answer.offset,
            answer.leader_epoch if version >= _SINCE_LEADER_EPOCH else -1,
            answer.timestamp,
        )
        for topic in payload.topics
        for answer in topic.partitions
    }
    throttled = payload.throttle_time // timedelta(milliseconds=1) if version >= _SINCE_ISOLATION else 0
    return ListOffsetsResponse(throttle_time_ms=throttled, partitions=partitions)


def _partition(kind: Any, index: int, asked: OffsetQuestion, version: int) -> Any:
    fence = {"current_leader_epoch": asked.current_leader_epoch} if version >= _SINCE_LEADER_EPOCH else {}
    return kind(partition_index=index, timestamp=asked.timestamp, **fence)
