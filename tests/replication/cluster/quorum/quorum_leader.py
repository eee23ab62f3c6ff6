"""The leader of a metadata quorum, without I/O: a log of batches that grows, is cut at its end and at its start."""

import io
from copy import copy
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from epoch import EndOffset
from logstore import BatchTemplate, Record, TopicPartition
from logstore.append.encoding import encode_batch
from replication.records.metadata.control_messages import encode_control
from replication.records.metadata.framing import encode
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
)
from replication.records.metadata.records.control import LeaderChange, SnapshotFooter, SnapshotHeader
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import (
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    SnapshotId,
)
from replication.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse

METADATA = TopicPartition("__cluster_metadata", 0)
METADATA_ID = UUID(int=1)
LEADER = 100


@dataclass(frozen=True)
class Written:
    """One batch, and what it says."""

    base_offset: int
    epoch: int
    data: bytes
    records: tuple[MetadataRecord, ...]
    count: int

    @property
    def end_offset(self) -> int:
        return self.base_offset + self.count


class QuorumLeader:
    """Answers as Kafka's controllers do."""

    def __init__(self, cluster_id: str = "cluster") -> None:
        self.cluster_id = cluster_id
        self.listens_at: Address | None = None
        """What it tells of that, if anything."""
        self.now_ms = 0
        """What its clock shows."""
        self.leads = True
        self.epoch = 0
        self.high_watermark = 0
        self.log: list[Written] = []
        self.snapshot: tuple[SnapshotId, bytes] | None = None
        self._compacted = ClusterImage()
        """What the snapshot says."""
        self.elect()

    @property
    def end_offset(self) -> int:
        if self.log:
            return self.log[-1].end_offset
        return self.snapshot[0].end_offset if self.snapshot else 0

    # --- what happens to it

    def elect(self) -> None:
        """Begin another epoch, as all leaders do, with a record that says so."""
        self.epoch += 1
        change = LeaderChange(version=1, leader_id=LEADER, voters=(), granting_voters=())
        self._write([encode_control(change, 0)], (), is_control=True)

    def append(self, *records: MetadataRecord) -> None:
        """Write a batch."""
        self._write([Record(-1, self.now_ms, None, encode(record)) for record in records], records, is_control=False)

    def commit(self, high_watermark: int | None = None) -> None:
        """Let a majority have all up to an offset."""
        self.high_watermark = self.end_offset if high_watermark is None else high_watermark

    def lose_uncommitted(self) -> None:
        """Let another lead that has only what is committed."""
        self.log = [each for each in self.log if each.end_offset <= self.high_watermark]
        self.elect()

    def as_of_now(self) -> Self:
        """Return one that stays as this one is now."""
        behind = copy(self)
        behind.log = list(self.log)
        return behind

    def compact(self) -> None:
        """Replace all that is committed by a snapshot."""
        committed = [each for each in self.log if each.end_offset <= self.high_watermark]
        last = committed[-1]
        content = io.BytesIO()
        self._compacted = self.image()
        image_records = list(self._compacted.records())
        batches = [[encode_control(SnapshotHeader(last_contained_log_timestamp=0), 0)]]
        batches += [[Record(-1, 0, None, encode(record))] for record in image_records]
        batches += [[encode_control(SnapshotFooter(), 0)]]
        for offset, batch in enumerate(batches):
            is_control = offset in {0, len(batches) - 1}
            template = BatchTemplate(base_offset=offset, leader_epoch=last.epoch, is_control=is_control)
            content.write(encode_batch(batch, template))
        self.snapshot = SnapshotId(last.end_offset, last.epoch), content.getvalue()
        self.log = self.log[len(committed) :]

    def image(self) -> ClusterImage:
        """What replaying the committed records gives; no transaction may be open at a `compact`."""
        image, held = ClusterImage(), None
        image.replay_all(self._compacted.records())
        for each in self.log:
            for record in each.records if each.end_offset <= self.high_watermark else ():
                if isinstance(record, BeginTransactionRecord):
                    held = []
                elif isinstance(record, EndTransactionRecord | AbortTransactionRecord):
                    image.replay_all(held or () if isinstance(record, EndTransactionRecord) else ())
                    held = None
                elif held is not None:
                    held.append(record)
                else:
                    image.replay(record)
        return image

    # --- what it answers

    def answer(
        self, request: FetchRequest | FetchSnapshotRequest, max_bytes: int = 1 << 20
    ) -> FetchResponse | FetchSnapshotResponse:
        """Answer a fetch, with at most so many bytes, though at least one batch."""
        if isinstance(request, FetchSnapshotRequest):
            return self._snapshot_piece(request, max_bytes)
        if request.cluster_id != self.cluster_id:
            return FetchResponse(error=ErrorCode.INCONSISTENT_CLUSTER_ID, partitions={})
        assert request.topic_ids == {METADATA.topic: METADATA_ID}
        asked = request.partitions[METADATA]
        if asked.last_fetched_epoch < 0 or asked.last_fetched_epoch > asked.current_leader_epoch:
            return FetchResponse(partitions={METADATA: FetchedPartition(ErrorCode.INVALID_REQUEST, -1)})
        error = self._refusal(asked.current_leader_epoch)
        if error is not ErrorCode.NONE:
            told = FetchedPartition(error, -1, current_leader=LeaderIdAndEpoch(LEADER, self.epoch))
            leaders = {LEADER: self.listens_at} if self.listens_at else {}
            return FetchResponse(partitions={METADATA: told}, leaders=leaders)
        return FetchResponse(
            partitions={METADATA: self._fetched(asked.fetch_offset, asked.last_fetched_epoch, max_bytes)}
        )

    def _refusal(self, epoch: int) -> ErrorCode:
        if epoch != self.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH if epoch < self.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NONE if self.leads else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def _fetched(self, offset: int, last_epoch: int, max_bytes: int) -> FetchedPartition:
        if self.snapshot is not None and (offset, last_epoch) < self.snapshot[0]:
            return FetchedPartition(ErrorCode.NONE, self.high_watermark, snapshot_id=self.snapshot[0])
        diverging = self._divergence(offset, last_epoch)
        if diverging is not None:
            return FetchedPartition(ErrorCode.NONE, self.high_watermark, diverging_epoch=diverging)
        batches = [each.data for each in self.log if each.base_offset >= offset]
        data = b"".join(batches)[: max(max_bytes, len(batches[0]) if batches else 0)]
        return FetchedPartition(ErrorCode.NONE, self.high_watermark, 0, data)

    def _divergence(self, offset: int, last_epoch: int) -> EndOffset | None:
        if offset == 0:
            return None
        start = (self.snapshot[0].epoch, self.snapshot[0].end_offset) if self.snapshot else (0, 0)
        known = [start, *((each.epoch, each.end_offset) for each in self.log if each.epoch <= last_epoch)]
        epoch, end = known[-1]
        return EndOffset(epoch, end) if epoch < last_epoch or end < offset else None

    def _snapshot_piece(self, request: FetchSnapshotRequest, max_bytes: int) -> FetchSnapshotResponse:
        if self.snapshot is None or self.snapshot[0] != request.snapshot_id:
            return FetchSnapshotResponse(error=ErrorCode.SNAPSHOT_NOT_FOUND)
        data = self.snapshot[1]
        piece = data[request.position : request.position + max_bytes]
        return FetchSnapshotResponse(error=ErrorCode.NONE, size=len(data), position=request.position, data=piece)

    def _write(self, records: list[Record], said: tuple[MetadataRecord, ...], *, is_control: bool) -> None:
        template = BatchTemplate(base_offset=self.end_offset, leader_epoch=self.epoch, is_control=is_control)
        self.log.append(Written(self.end_offset, self.epoch, encode_batch(records, template), said, len(records)))
