"""A snapshot of the metadata on its way from the quorum's leader."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from epoch.filesystem import REAL, FileSystem
from logstore import TopicPartition
from replication.records.metadata.snapshot import MetadataSnapshot, snapshot_name
from replication.wire.errors import MalformedResponseError
from replication.wire.messages.fetch import SnapshotId
from replication.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse

PARTIAL_SUFFIX: Final = ".part"
"""Of a file that is not whole yet (Kafka: Snapshots.PARTIAL_SUFFIX)."""
_MAX_BYTES: Final = 8 << 20


class FetchedSnapshot:
    """What has come of it, in a file of its own (KIP-630). Methods raise OSError."""

    def __init__(self, snapshot_id: SnapshotId, directory: Path, filesystem: FileSystem = REAL) -> None:
        """Begin at its first byte."""
        self.id = snapshot_id
        path = directory / f"{snapshot_name(snapshot_id.end_offset, snapshot_id.epoch)}{PARTIAL_SUFFIX}"
        self.file: MetadataSnapshot = MetadataSnapshot(path, snapshot_id.end_offset, snapshot_id.epoch)
        """To be read once it is whole."""
        self._filesystem = filesystem
        self._descriptor: int | None = filesystem.open(path, truncate=True)
        self._position = 0

    def request(
        self, partition: TopicPartition, node_id: int, cluster_id: str, leader_epoch: int
    ) -> FetchSnapshotRequest:
        """Return what to ask next."""
        return FetchSnapshotRequest(
            partition=partition,
            snapshot_id=self.id,
            position=self._position,
            max_bytes=_MAX_BYTES,
            current_leader_epoch=leader_epoch,
            replica_id=node_id,
            cluster_id=cluster_id,
        )

    def take(self, response: FetchSnapshotResponse) -> bool:
        """Add the next piece; return whether it was the last. Raises MalformedResponseError for another one."""
        at, end = self._position, self._position + len(response.data)
        if response.position != at or not response.data or end > response.size or self._descriptor is None:
            raise MalformedResponseError(
                f"of a snapshot of {response.size:,} bytes, {len(response.data):,} came for position "
                f"{response.position:,}, but those from {at:,} on were requested"
            )
        self._filesystem.write(self._descriptor, response.data)
        self._position = end
        is_whole = end == response.size
        if is_whole:
            self._filesystem.fsync(self._descriptor)
            self._close()
        return is_whole

    def discard(self) -> None:
        """Remove what has come."""
        self._close()
        with suppress(FileNotFoundError):
            self._filesystem.unlink(self.file.path)

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self._filesystem.close(descriptor)
