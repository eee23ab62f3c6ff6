"""ListOffsets: a log's first and last offset, and the offset for a time (KIP-79, KIP-405)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from logstore import TopicPartition
from replication.protocol.replica_id import CONSUMER

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
class ListOffsetsRequest:
    """Asks for offsets of partitions, one each (Kafka: ListOffsetsRequest)."""

    partitions: Mapping[TopicPartition, OffsetQuestion]
    replica_id: int = CONSUMER
    isolation_level: int = 0
    """0: read uncommitted; 1: LATEST is the last stable offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsResponse:
    """The answer to a ListOffsetsRequest."""

    throttle_time_ms: int = 0
    partitions: Mapping[TopicPartition, ListedOffset]
