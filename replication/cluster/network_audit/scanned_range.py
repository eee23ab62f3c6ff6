"""A range of a replica's offsets that is fetched in a task of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from logstore.file_name import FileKind
from logstore.offline.segment import Segment
from logstore.verify.batch_totals import BatchTotals
from logstore.verify.finding import Finding, Reporter
from logstore.verify.log_pass import Chunk
from logstore.verify.record_check import RecordCheck
from replication.cluster.network_audit.broker_reader import BrokerReader
from replication.cluster.network_audit.fetched_log import FetchedReplica
from replication.cluster.network_audit.range_fetch import FetchedPiece, RangeFetch
from replication.cluster.network_audit.replica_bounds import Bounds
from replication.cluster.network_audit.scanned_piece import ScannedPiece


@dataclass(frozen=True, slots=True)
class ScannedRange:
    """What was fetched of a range."""

    pieces: tuple[ScannedPiece, ...]
    findings: tuple[Finding, ...]
    """About records, where they were decoded."""
    bytes: int


@dataclass(frozen=True, slots=True)
class RangeToScan:
    """A range of offsets of one replica: the batches that begin in it."""

    broker_id: int
    replica: FetchedReplica
    bounds: Bounds
    """A part of the replica's own."""
    leader_epoch: int
    topic_id: UUID | None

    @classmethod
    def all_of(
        cls, broker_id: int, replica: FetchedReplica, leader_epoch: int, topic_id: UUID | None, offsets: int
    ) -> "Iterator[RangeToScan]":
        """Divide a replica into ranges of so many offsets; there is one at least."""
        start, end = replica.bounds
        for first in range(start, max(end, start + 1), offsets):
            yield cls(broker_id, replica, Bounds(first, min(first + offsets, end)), leader_epoch, topic_id)

    def scan(self, reader: BrokerReader) -> ScannedRange:
        """Fetch it. Raises ReplicaMovedError and ReplicaUnreadError."""
        replica, (start, end) = self.replica, self.bounds
        check = RecordCheck(Reporter(replica.partition))
        pieces: list[ScannedPiece] = []
        findings: list[Finding] = []
        size = 0
        for piece in reader.read(RangeFetch(replica.partition, start, end, self.leader_epoch, self.topic_id)):
            size += len(piece.data)
            own = piece if start == replica.bounds.start else _beginning_from(piece, start)
            if not len(own.columns):
                continue
            pieces.append(ScannedPiece.of(own, with_keys=replica.is_compacted is None))
            if replica.records:
                findings += check.batches(_chunk(own))
        return ScannedRange(tuple(pieces), tuple(findings), size)


def _chunk(piece: FetchedPiece) -> Chunk:
    """Return a piece as checks take it, of a segment without a file."""
    segment = Segment(0, {FileKind.LOG: Path(str(piece.columns.base_offset[0]))})
    return Chunk(segment, False, piece.log, piece.columns, BatchTotals.of(piece.columns), [])


def _beginning_from(piece: FetchedPiece, start: int) -> FetchedPiece:
    """Leave out the batch that begins in the range before: that has it."""
    return piece._replace(columns=piece.columns.where(piece.columns.base_offset >= start))
