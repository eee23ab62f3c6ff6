"""FetchSnapshot: a piece of a snapshot of the metadata, from the quorum's leader (KIP-630)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, NamedTuple
from uuid import UUID

from logstore import TopicPartition
from replication.records.codec.codec import Since, Struct, Structs, Tag
from replication.records.codec.fields import NO_ID, Int16, Int32, Int64, OptionalString, Records, String, UInt16, Uuid
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.errors import MalformedResponseError, UnsupportedRequestError
from replication.wire.messages.fetch import LeaderIdAndEpoch, SnapshotId
from replication.wire.messages.form import Form
from replication.wire.messages.replica_id import CONSUMER
from replication.wire.messages.request import Request

_NO_SNAPSHOT: Final = SnapshotId(-1, -1)
_NO_LEADER: Final = LeaderIdAndEpoch(0, 0)
"""What stands there where the tag is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotResponse:
    """The answer to a FetchSnapshotRequest."""

    error: ErrorCode
    """About the request as a whole, or about the partition."""
    size: int = 0
    """Of the whole snapshot, in bytes."""
    position: int = 0
    """Where `data` begins in it."""
    data: bytes | memoryview = b""
    """A part of the file, which may begin and end within a batch."""
    throttle_time_ms: int = 0
    partition: TopicPartition | None = None
    """None where `error` is about the request as a whole."""
    snapshot_id: SnapshotId = _NO_SNAPSHOT
    current_leader: LeaderIdAndEpoch | None = None
    """With an error that means that another broker leads."""
    leaders: Mapping[int, Address] = field(default_factory=dict)
    """Where the current leader listens, by node id (KIP-853; v1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotRequest(Request[FetchSnapshotResponse]):
    """Asks for what comes from `position` on in the snapshot of one partition."""

    partition: TopicPartition
    snapshot_id: SnapshotId
    position: int
    """In bytes."""
    max_bytes: int
    current_leader_epoch: int
    replica_id: int
    cluster_id: str | None = None
    replica_directory_id: UUID = NO_ID
    """Of the directory of the follower's log (KIP-853; v1)."""


API_KEY: Final = 59
VERSIONS: Final = range(2)


class _Asked(NamedTuple):
    partition: Int32
    current_leader_epoch: Int32
    snapshot_id: Annotated[SnapshotId, Struct(SnapshotId)]
    position: Int64
    replica_directory_id: Annotated[Uuid, Since(1, ignorable=True), Tag(0)] = NO_ID


class _AskedTopic(NamedTuple):
    name: String
    partitions: Annotated[tuple[_Asked, ...], Structs(_Asked)]


class _Request(NamedTuple):
    cluster_id: Annotated[OptionalString, Tag(0)] = None
    replica_id: Int32 = CONSUMER
    max_bytes: Int32 = 0
    topics: Annotated[tuple[_AskedTopic, ...], Structs(_AskedTopic)] = ()


class _Told(NamedTuple):
    partition: Int32
    error: Int16
    snapshot_id: Annotated[SnapshotId, Struct(SnapshotId)]
    current_leader: Annotated[LeaderIdAndEpoch, Struct(LeaderIdAndEpoch), Tag(0)] = _NO_LEADER
    size: Int64 = 0
    position: Int64 = 0
    data: Records = b""


class _ToldTopic(NamedTuple):
    name: String
    partitions: Annotated[tuple[_Told, ...], Structs(_Told)]


class _Endpoint(NamedTuple):
    node_id: Int32
    host: String
    port: UInt16


class _Response(NamedTuple):
    throttle_time_ms: Int32 = 0
    error: Int16 = 0
    topics: Annotated[tuple[_ToldTopic, ...], Structs(_ToldTopic)] = ()
    endpoints: Annotated[tuple[_Endpoint, ...], Structs(_Endpoint), Since(1, ignorable=True), Tag(0)] = ()


def _encode_request(request: FetchSnapshotRequest, _: int) -> _Request:
    topic, index = request.partition
    asked = _Asked(
        index, request.current_leader_epoch, request.snapshot_id, request.position, request.replica_directory_id
    )
    return _Request(request.cluster_id, request.replica_id, request.max_bytes, (_AskedTopic(topic, (asked,)),))


def _decode_request(fields: _Request, _: int) -> FetchSnapshotRequest:
    partitions = [(topic.name, asked) for topic in fields.topics for asked in topic.partitions]
    if len(partitions) != 1:
        raise UnsupportedRequestError(f"a FetchSnapshotRequest asks for {len(partitions)} partitions, not for one")
    topic, asked = partitions[0]
    return FetchSnapshotRequest(
        partition=TopicPartition(topic, asked.partition),
        snapshot_id=asked.snapshot_id,
        position=asked.position,
        max_bytes=fields.max_bytes,
        current_leader_epoch=asked.current_leader_epoch,
        replica_id=fields.replica_id,
        cluster_id=fields.cluster_id,
        replica_directory_id=asked.replica_directory_id,
    )


def _encode_response(response: FetchSnapshotResponse, _: int) -> _Response:
    endpoints = tuple(_Endpoint(node_id, *address) for node_id, address in response.leaders.items())
    if response.partition is None:
        return _Response(response.throttle_time_ms, response.error, (), endpoints)
    topic, index = response.partition
    told = _Told(
        index,
        response.error,
        response.snapshot_id,
        response.current_leader or _NO_LEADER,
        response.size,
        response.position,
        response.data,
    )
    return _Response(response.throttle_time_ms, ErrorCode.NONE, (_ToldTopic(topic, (told,)),), endpoints)


def _decode_response(fields: _Response, _: int) -> FetchSnapshotResponse:
    """Return the answer; MalformedResponseError where it is not about one partition."""
    leaders = {node_id: Address(host, port) for node_id, host, port in fields.endpoints}
    error = code_of(fields.error)
    if error is not ErrorCode.NONE:
        return FetchSnapshotResponse(error=error, throttle_time_ms=fields.throttle_time_ms, leaders=leaders)
    partitions = [(topic.name, told) for topic in fields.topics for told in topic.partitions]
    if len(partitions) != 1:
        raise MalformedResponseError(f"the answer to FetchSnapshot has {len(partitions)} partitions, not one")
    topic, told = partitions[0]
    return FetchSnapshotResponse(
        error=code_of(told.error),
        size=told.size,
        position=told.position,
        data=told.data,
        throttle_time_ms=fields.throttle_time_ms,
        partition=TopicPartition(topic, told.partition),
        snapshot_id=told.snapshot_id,
        current_leader=None if told.current_leader == _NO_LEADER else told.current_leader,
        leaders=leaders,
    )


REQUEST: Final = Form("FetchSnapshotRequest", _Request, 0, _encode_request, _decode_request)
RESPONSE: Final = Form("FetchSnapshotResponse", _Response, 0, _encode_response, _decode_response)
