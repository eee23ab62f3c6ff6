"""Fetch: records from a leader, or where this follower's log departs from the leader's (KIP-227, 320, 516, 595)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode

from epoch import EndOffset
from logstore import TopicPartition
from replication.protocol.replica_id import CONSUMER

NO_SESSION: Final = 0
"""The session id of a fetch outside of any session (Kafka: FetchMetadata.INVALID_SESSION_ID)."""

FINAL_SESSION_EPOCH: Final = -1
"""A full fetch that opens no session, and closes the one it names (Kafka: FetchMetadata.FINAL_EPOCH)."""

INITIAL_SESSION_EPOCH: Final = 0
"""A full fetch that asks for a new session (Kafka: FetchMetadata.INITIAL_EPOCH)."""


class FetchPartition(NamedTuple):
    """What to fetch of one partition, and what the follower knows of it (Kafka: FetchRequest.PartitionData)."""

    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int = -1
    """The epoch in which the follower believes the leader to lead; a leader in another refuses (KIP-320; v9)."""
    last_fetched_epoch: int = -1
    """The epoch of the follower's last record: asks the leader to look for divergence (KIP-595; v12)."""
    log_start_offset: int = -1
    """The follower's log start offset, from which the leader knows what all have deleted; -1 of consumers (v5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """Asks for records of partitions; in a session, only of those that changed (Kafka: FetchRequest)."""

    partitions: Mapping[TopicPartition, FetchPartition]
    forgotten: Collection[TopicPartition] = ()
    """Partitions to drop from the session."""
    topic_ids: Mapping[str, UUID] = field(default_factory=dict)
    """The ids of all topics of the session; where one is missing the request is by name, as version 12 at most."""
    replica_id: int = CONSUMER
    replica_epoch: int = -1
    """The broker epoch of the replica, by which a leader knows a former life of it (KIP-903; v15)."""
    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 0x7FFFFFFF
    """Of all partitions together; the first batch comes whole even when it is larger (KIP-74)."""
    session_id: int = NO_SESSION
    session_epoch: int = FINAL_SESSION_EPOCH
    isolation_level: int = 0
    """0: read uncommitted; 1: up to the last stable offset."""


class LeaderIdAndEpoch(NamedTuple):
    """Who leads a partition, as a broker that does not lead it knows."""

    leader_id: int
    leader_epoch: int


class FetchedPartition(NamedTuple):
    """One partition's part of the answer (Kafka: FetchResponseData.PartitionData)."""

    error: ErrorCode
    high_watermark: int
    log_start_offset: int = -1
    """The leader's; -1 below version 5."""
    records: bytes | memoryview = b""
    """Record batches as the leader has them; the last one may be cut off."""
    diverging_epoch: EndOffset | None = None
    """The largest epoch up to the follower's last that the leader knows, and its end: there is no record then."""
    current_leader: LeaderIdAndEpoch | None = None
    """With an error that says that somebody else leads (v12)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse:
    """The answer to a FetchRequest; in a session, only with partitions that have news (Kafka: FetchResponse)."""

    error: ErrorCode = ErrorCode.none
    """About the session; those about partitions are theirs."""
    session_id: int = NO_SESSION
    throttle_time_ms: int = 0
    partitions: Mapping[TopicPartition, FetchedPartition]
