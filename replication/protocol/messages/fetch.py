"""Fetch: records from a leader, or where this follower's log departs from the leader's (KIP-227, 320, 516, 595)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from epoch import EndOffset
from logstore import TopicPartition
from replication.protocol.addresses import Address
from replication.protocol.error_code import ErrorCode, code_of
from replication.protocol.errors import MalformedResponseError
from replication.protocol.messages.by_topic import by_topic
from replication.protocol.messages.replica_id import CONSUMER
from replication.protocol.messages.request import Request

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


class LeaderIdAndEpoch(NamedTuple):
    """Who leads a partition, as a broker that does not lead it knows."""

    leader_id: int
    leader_epoch: int


class SnapshotId(NamedTuple):
    """Which snapshot of the metadata (Kafka: OffsetAndEpoch)."""

    end_offset: int
    """Everything below it is in the snapshot."""
    epoch: int
    """Of the last record that is in it."""


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
    snapshot_id: SnapshotId | None = None
    """Of the metadata, where the log no longer goes back to the offset asked for (KIP-630; v12)."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest(Request[FetchResponse]):
    """Asks for records of partitions; in a session, only of those that changed (Kafka: FetchRequest)."""

    partitions: Mapping[TopicPartition, FetchPartition]
    forgotten: Collection[TopicPartition] = ()
    """Partitions to drop from the session."""
    topic_ids: Mapping[str, UUID] = field(default_factory=dict)
    """The ids of all topics of the session, by which versions from 13 on name them; none: by name.

    A session that began by name goes on by name: give no ids then (else FETCH_SESSION_TOPIC_ID_ERROR).
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
    cluster_id: str | None = None
    """Of a metadata log, so that one of another cluster is refused (KIP-595; v12)."""


API_KEY: Final = 1
VERSIONS: Final = range(4, 19)
"""4 is the first with record batches v2 (Kafka 0.11)."""

_SINCE_LOG_START: Final = 5
_SINCE_SESSIONS: Final = 7
_SINCE_LEADER_EPOCH: Final = 9
_SINCE_LAST_FETCHED_EPOCH: Final = 12
_SINCE_TOPIC_IDS: Final = 13
_SINCE_REPLICA_STATE: Final = 15
_SINCE_ENDPOINTS: Final = 16


def fetch_versions(request: FetchRequest) -> range:
    """Return the versions that can carry a request: by topic id only where every topic's is known (KIP-516)."""
    named = {topic for topic, _ in (*request.partitions, *request.forgotten)}
    by_id = len(request.topic_ids) > 0 and named <= request.topic_ids.keys()
    return VERSIONS if by_id else range(VERSIONS.start, _SINCE_TOPIC_IDS)


def encode_fetch(request: FetchRequest, classes: Any) -> Any:
    """Return the request as one of kio's `classes`; what their version cannot say is left out, as Kafka does."""
    version = classes.FetchRequest.__version__
    fields: dict[str, Any] = {
        "max_wait": timedelta(milliseconds=request.max_wait_ms),
        "min_bytes": request.min_bytes,
        "max_bytes": request.max_bytes,
        "isolation_level": request.isolation_level,
        "topics": tuple(
            classes.FetchTopic(
                **_topic(topic, request.topic_ids, version),
                partitions=tuple(_partition(classes.FetchPartition, *entry, version) for entry in entries),
            )
            for topic, entries in by_topic(request.partitions.items()).items()
        ),
    }
    if version >= _SINCE_LAST_FETCHED_EPOCH:
        fields["cluster_id"] = request.cluster_id
    if version < _SINCE_REPLICA_STATE:
        fields["replica_id"] = request.replica_id
    else:
        state = classes.ReplicaState(replica_id=request.replica_id, replica_epoch=request.replica_epoch)
        fields["replica_state"] = state
    if version >= _SINCE_SESSIONS:
        fields |= {"session_id": request.session_id, "session_epoch": request.session_epoch}
        fields["forgotten_topics_data"] = tuple(
            classes.ForgottenTopic(
                **_topic(topic, request.topic_ids, version), partitions=tuple(partition for partition, _ in entries)
            )
            for topic, entries in by_topic((partition, None) for partition in request.forgotten).items()
        )
    return classes.FetchRequest(**fields)


def decode_fetch(payload: Any, topic_names: Mapping[UUID, str]) -> FetchResponse:
    """Read kio's FetchResponse; MalformedResponseError for a topic id that `topic_names` does not have."""
    version = payload.__version__
    partitions = {
        TopicPartition(topic, partition.partition_index): _fetched(partition, version)
        for answer in payload.responses
        for topic in (_topic_name(answer, topic_names, version),)
        for partition in answer.partitions
    }
    return FetchResponse(
        error=code_of(payload.error_code) if version >= _SINCE_SESSIONS else ErrorCode.NONE,
        session_id=payload.session_id if version >= _SINCE_SESSIONS else NO_SESSION,
        throttle_time_ms=payload.throttle_time // timedelta(milliseconds=1),
        partitions=partitions,
        leaders=_endpoints(payload) if version >= _SINCE_ENDPOINTS else {},
    )


def _endpoints(payload: Any) -> dict[int, Address]:
    return {node.node_id: Address(node.host, node.port) for node in payload.node_endpoints}


def _topic(topic: str, topic_ids: Mapping[str, UUID], version: int) -> dict[str, str | UUID]:
    return {"topic_id": topic_ids[topic]} if version >= _SINCE_TOPIC_IDS else {"topic": topic}


def _partition(kind: Any, index: int, asked: FetchPartition, version: int) -> Any:
    offset, max_bytes, leader_epoch, fetched_epoch, log_start = asked
    if version >= _SINCE_LAST_FETCHED_EPOCH:
        return kind(
            partition=index,
            current_leader_epoch=leader_epoch,
            fetch_offset=offset,
            last_fetched_epoch=fetched_epoch,
            log_start_offset=log_start,
            partition_max_bytes=max_bytes,
        )
    older = {"log_start_offset": log_start} if version >= _SINCE_LOG_START else {}
    if version >= _SINCE_LEADER_EPOCH:
        older["current_leader_epoch"] = leader_epoch
    return kind(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes, **older)


def _topic_name(answer: Any, topic_names: Mapping[UUID, str], version: int) -> str:
    if version < _SINCE_TOPIC_IDS:
        name: str = answer.topic
        return name
    try:
        return topic_names[answer.topic_id]
    except KeyError:
        raise MalformedResponseError(
            f"the answer to Fetch holds a topic of id {answer.topic_id}, which was not asked for"
        ) from None


def _fetched(partition: Any, version: int) -> FetchedPartition:
    log_start = partition.log_start_offset if version >= _SINCE_LOG_START else -1
    records = partition.records or b""
    if version < _SINCE_LAST_FETCHED_EPOCH:
        return FetchedPartition(code_of(partition.error_code), partition.high_watermark, log_start, records)
    diverging, leader, snapshot = partition.diverging_epoch, partition.current_leader, partition.snapshot_id
    return FetchedPartition(
        code_of(partition.error_code),
        partition.high_watermark,
        log_start,
        records,
        EndOffset(diverging.epoch, diverging.end_offset) if diverging.epoch >= 0 else None,
        LeaderIdAndEpoch(leader.leader_id, leader.leader_epoch) if leader.leader_id >= 0 else None,
        SnapshotId(snapshot.end_offset, snapshot.epoch) if snapshot.end_offset >= 0 else None,
    )
