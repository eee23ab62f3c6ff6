"""Answers FetchSnapshot (KIP-630; Kafka: KafkaRaftClient.handleFetchSnapshotRequest)."""

import os
from typing import BinaryIO, Final

from replication.base.metadata_partition import METADATA_PARTITION
from replication.cluster.standalone.quorum.led_quorum import LedQuorum
from replication.records.metadata.snapshot import snapshot_name
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from replication.wire.server.call import Call

_MAX_BYTES: Final = 8 << 20
"""Of one piece (Kafka: KafkaRaftClient.MAX_FETCH_SIZE_BYTES)."""


class SnapshotPieces:
    """Gives the snapshots that are kept, piece by piece: a later one may come while one is being fetched."""

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
        if error is not ErrorCode.NONE:
            return self._refused(request, error)
        end_offset, epoch = request.snapshot_id
        if end_offset == 0:  # what the cluster was formatted with, which the log has too
            return self._refused(request, ErrorCode.SNAPSHOT_NOT_FOUND)
        try:
            with open(self._quorum.log.directory / snapshot_name(end_offset, epoch), "rb") as file:
                return self._piece(request, file)
        except FileNotFoundError:
            return self._refused(request, ErrorCode.SNAPSHOT_NOT_FOUND)

    def _piece(self, request: FetchSnapshotRequest, file: BinaryIO) -> FetchSnapshotResponse:
        size = file.seek(0, os.SEEK_END)
        if not 0 <= request.position < size:
            return self._refused(request, ErrorCode.POSITION_OUT_OF_RANGE)
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
