"""FetchSnapshot: a piece of a snapshot of the metadata, from the quorum's leader (KIP-630)."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from logstore import TopicPartition
from replication.protocol.error_code import ErrorCode, code_of
from replication.protocol.errors import MalformedResponseError
from replication.protocol.messages.fetch import SnapshotId
from replication.protocol.messages.request import Request


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


API_KEY: Final = 59
VERSIONS: Final = range(2)


def encode_fetch_snapshot(request: FetchSnapshotRequest, classes: Any) -> Any:
    """Return the request as one of kio's `classes`, all of one version."""
    partition = classes.PartitionSnapshot(
        partition=request.partition.partition,
        current_leader_epoch=request.current_leader_epoch,
        snapshot_id=classes.SnapshotId(end_offset=request.snapshot_id.end_offset, epoch=request.snapshot_id.epoch),
        position=request.position,
    )
    return classes.FetchSnapshotRequest(
        cluster_id=request.cluster_id,
        replica_id=request.replica_id,
        max_bytes=request.max_bytes,
        topics=(classes.TopicSnapshot(name=request.partition.topic, partitions=(partition,)),),
    )


def decode_fetch_snapshot(payload: Any) -> FetchSnapshotResponse:
    """Read kio's FetchSnapshotResponse; MalformedResponseError where it is not about one partition."""
    throttle_time_ms = payload.throttle_time // timedelta(milliseconds=1)
    error = code_of(payload.error_code)
    if error is not ErrorCode.NONE:
        return FetchSnapshotResponse(error=error, throttle_time_ms=throttle_time_ms)
    partitions = [partition for topic in payload.topics for partition in topic.partitions]
    if len(partitions) != 1:
        raise MalformedResponseError(f"the answer to FetchSnapshot tells of {len(partitions)} partitions, not of one")
    told = partitions[0]
    return FetchSnapshotResponse(
        error=code_of(told.error_code),
        size=told.size,
        position=told.position,
        data=told.unaligned_records or b"",
        throttle_time_ms=throttle_time_ms,
    )
