"""Answers FetchSnapshot (KIP-630; Kafka: KafkaRaftClient.handleFetchSnapshotRequest)."""

from typing import Final

from replication.metadata_partition import METADATA_PARTITION
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from replication.server.call import Call
from replication.standalone.quorum.led_quorum import LedQuorum

_MAX_BYTES: Final = 8 << 20
"""Of one piece (Kafka: KafkaRaftClient.MAX_FETCH_SIZE_BYTES)."""


class SnapshotPieces:
    """Gives the snapshot that the log goes on from, piece by piece."""

    def __init__(self, quorum: LedQuorum) -> None:
        """Answer as its leader."""
        self._quorum: Final = quorum

    def answer(self, request: FetchSnapshotRequest, _: Call) -> FetchSnapshotResponse:
        """Return the bytes from a position on, at least one. Raises OSError."""
        if self._quorum.is_other(request.cluster_id):
            return FetchSnapshotResponse(error=ErrorCode.INCONSISTENT_CLUSTER_ID)
        if request.partition != METADATA_PARTITION:
            return self._refused(request, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        error = self._quorum.refusal(request.current_leader_epoch)
        snapshot = self._quorum.snapshot
        if error is not ErrorCode.NONE:
            return self._refused(request, error)
        if snapshot is None or request.snapshot_id != self._quorum.snapshot_id:
            return self._refused(request, ErrorCode.SNAPSHOT_NOT_FOUND)
        size = snapshot.path.stat().st_size
        if not 0 <= request.position < size:
            return self._refused(request, ErrorCode.POSITION_OUT_OF_RANGE)
        with open(snapshot.path, "rb") as file:
            file.seek(request.position)
            data = file.read(min(max(request.max_bytes, 1), _MAX_BYTES))
        return FetchSnapshotResponse(
            error=ErrorCode.NONE,
            size=size,
            position=request.position,
            data=data,
            partition=request.partition,
            snapshot_id=request.snapshot_id,
            current_leader=self._quorum.leader,
            leaders=self._quorum.leaders,
        )

    def _refused(self, request: FetchSnapshotRequest, error: ErrorCode) -> FetchSnapshotResponse:
        return FetchSnapshotResponse(
            error=error,
            partition=request.partition,
            snapshot_id=request.snapshot_id,
            current_leader=self._quorum.leader,
            leaders=self._quorum.leaders,
        )
