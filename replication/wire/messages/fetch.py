"""Fetch: records from a leader, or where this follower's log departs from the leader's (KIP-227, 320, 516, 595)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple
from uuid import UUID

from epoch import EndOffset
from logstore import TopicPartition
from replication.records.codec.fields import NO_ID, Int32, Int64
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.messages.replica_id import CONSUMER
from replication.wire.messages.request import Request
from replication.wire.messages.topic_ids import new_names, with_names

NO_SESSION: Final = 0
"""The session id of a fetch outside of any session (Kafka: FetchMetadata.INVALID_SESSION_ID)."""

FINAL_SESSION_EPOCH: Final = -1
"""A full fetch that opens no session, and closes the one it names (Kafka: FetchMetadata.FINAL_EPOCH)."""

INITIAL_SESSION_EPOCH: Final = 0
"""A full fetch that asks for a new session (Kafka: FetchMetadata.INITIAL_EPOCH)."""

NOT_SUPPORTED: Final = 2**63 - 1
"""Instead of a follower's high watermark, where it does not send it."""


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
    replica_directory_id: UUID = NO_ID
    """Of the directory of the follower's log (KIP-853; v17)."""
    high_watermark: int = NOT_SUPPORTED
    """The follower's, so that the leader can answer at once where its own is higher (KIP-1166; v18)."""


class LeaderIdAndEpoch(NamedTuple):
    """Who leads a partition, as a broker that does not lead it knows."""

    leader_id: Int32
    leader_epoch: Int32


class SnapshotId(NamedTuple):
    """Which snapshot of the metadata (Kafka: OffsetAndEpoch)."""

    end_offset: Int64
    """Everything below it is in the snapshot."""
    epoch: Int32
    """Of the last record that is in it."""


class AbortedTransaction(NamedTuple):
    """A transaction of which records were fetched, and that was aborted."""

    producer_id: Int64
    first_offset: Int64


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
    """With an error that means that another broker leads (v12)."""
    snapshot_id: SnapshotId | None = None
    """Of the metadata, where the log no longer goes back to the offset asked for (KIP-630; v12)."""
    last_stable_offset: int = -1
    """-1 where the leader does not send it."""
    aborted_transactions: tuple[AbortedTransaction, ...] | None = None
    """Whose records are to be skipped; None to who reads uncommitted."""
    preferred_read_replica: int = -1
    """The broker to fetch from instead, where the leader knows a closer one (KIP-392; v11)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse:
    """The answer to a FetchRequest; in a session, only with partitions that have news (Kafka: FetchResponse)."""

    error: ErrorCode = ErrorCode.NONE
    """About the session; those about partitions are theirs."""
    session_id: int = NO_SESSION
    throttle_time_ms: int = 0
    partitions: Mapping[TopicPartition, FetchedPartition]
    leaders: Mapping[int, Address] = field(default_factory=dict)
    """Where the current leaders listen that the partitions name, by broker id (KIP-951; v16)."""
    topic_ids: Mapping[str, UUID] = field(default_factory=dict)
    """The ids of the topics, by which versions from 13 on name them; left out when an answer is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest(Request[FetchResponse]):
    """Asks for records of partitions; in a session, only of those that changed (Kafka: FetchRequest)."""

    partitions: Mapping[TopicPartition, FetchPartition]
    forgotten: Collection[TopicPartition] = ()
    """Partitions to drop from the session."""
    topic_ids: Mapping[str, UUID] = field(default_factory=dict)
    """The ids of all topics of the session, by which versions from 13 on name them; none: by name.

    A session that began by name goes on by name: give no ids then (else FETCH_SESSION_TOPIC_ID_ERROR).
    In a request that was read by ids they stand in place of names until `named` gives these.
    """
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
    rack_id: str = ""
    """Of a consumer, which may be sent to a closer replica (KIP-392; v11)."""
    cluster_id: str | None = None
    """Of a metadata log, so that one of another cluster is refused (KIP-595; v12)."""


API_KEY: Final = 1
VERSIONS: Final = range(4, 19)
"""4 is the first with record batches v2 (Kafka 0.11)."""

SINCE_TOPIC_IDS: Final = 13


def fetch_versions(request: FetchRequest) -> range:
    """Return the versions that can carry a request: by topic id only where every topic's is known (KIP-516)."""
    named = {topic for topic, _ in (*request.partitions, *request.forgotten)}
    by_id = len(request.topic_ids) > 0 and named <= request.topic_ids.keys()
    return VERSIONS if by_id else range(VERSIONS.start, SINCE_TOPIC_IDS)


def named(request: FetchRequest, names: Mapping[UUID, str]) -> FetchRequest:
    """Return a request that was read by topic ids with the names of the topics; ids without a name stay as they are."""
    new = new_names(request.topic_ids, names)
    return replace(
        request,
        partitions=with_names(request.partitions, new),
        forgotten=tuple(TopicPartition(new.get(topic, topic), index) for topic, index in request.forgotten),
        topic_ids={new[known]: topic_id for known, topic_id in request.topic_ids.items()},
    )
