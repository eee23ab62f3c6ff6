"""A snapshot of the metadata on its way from the quorum's leader."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from logstore import TopicPartition
from replication.metadata.records import MetadataRecord
from replication.metadata.snapshot import MetadataSnapshot
from replication.protocol.errors import MalformedResponseError
from replication.protocol.messages.fetch import SnapshotId
from replication.protocol.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse

_MAX_BYTES: Final = 8 << 20


class FetchedSnapshot:
    """What has come of it (KIP-630)."""

    def __init__(self, snapshot_id: SnapshotId) -> None:
        """Begin at its first byte."""
        self.id = snapshot_id
        self._content = bytearray()

    def request(
        self, partition: TopicPartition, node_id: int, cluster_id: str, leader_epoch: int
    ) -> FetchSnapshotRequest:
        """Return what to ask next."""
        return FetchSnapshotRequest(
            partition=partition,
            snapshot_id=self.id,
            position=len(self._content),
            max_bytes=_MAX_BYTES,
            current_leader_epoch=leader_epoch,
            replica_id=node_id,
            cluster_id=cluster_id,
        )

    def take(self, response: FetchSnapshotResponse) -> bool:
        """Take the next piece; return whether it was the last. Raises MalformedResponseError where it is another."""
        at = len(self._content)
        self._content += response.data
        if response.position != at or not response.data or len(self._content) > response.size:
            raise MalformedResponseError(
                f"of a snapshot of {response.size:,} bytes, {len(response.data):,} came for position "
                f"{response.position:,}, and those from {at:,} on were asked for"
            )
        return len(self._content) == response.size

    def records(self) -> Iterator[MetadataRecord]:
        """Read it once it is whole. Raises as `MetadataSnapshot.records` does."""
        name = Path(f"{self.id.end_offset:020d}-{self.id.epoch:010d}.checkpoint")
        content = memoryview(self._content).toreadonly()
        return MetadataSnapshot(name, self.id.end_offset, self.id.epoch, content).records()
