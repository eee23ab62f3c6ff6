"""A broker whose replicas are read from a copy of its directories, beside those of others that are fetched."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from logstore.file_name import FileKind
from logstore.offline.segment import Segment
from logstore.topic_partition import TopicPartition
from replication.base.errors import CopyUnreadableError, NotAllowedError
from replication.cluster.network_audit.errors import ReplicaMovedError, ReplicaUnreadError
from replication.cluster.network_audit.fetched_log import FetchedLog, FetchedReplica
from replication.cluster.network_audit.range_fetch import FetchedPiece
from replication.cluster.network_audit.replica_bounds import Bounds
from replication.cluster.network_audit.replicated_partition import broker_name
from replication.copies.audit.comparison.examined_copy import ExaminedCopy
from replication.copies.audit.copy_summary import CopySummary
from replication.copies.audit.examination.copy_examiner import Examiner, Row
from replication.copies.audit.pipeline.partition_rows import examined_copy
from replication.copies.audit.snapshots.directory_state import DirectoryState
from replication.copies.audit.snapshots.snapshot import Snapshot, segment_extents
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import Copy, Job
from replication.copies.planning.named_roots import ensure_one_cluster


class Extent(NamedTuple):
    """How far a copy is compared, and what of it is no matter of time."""

    end: int
    """Others are fetched up to here."""
    leader_epoch: int
    in_sync: bool
    is_compacted: bool | None
    """By the topic's settings; None where they are not known."""

    def cuts(self, summary: CopySummary) -> bool:
        """Whether a copy goes on behind the end with what its broker has got since.

        What one out of sync has there under an earlier leader epoch was written before an election, and counts.
        """
        epoch = summary.lineage[-1].epoch if summary.lineage else -1
        return summary.log_end_offset > self.end and (self.in_sync or epoch >= self.leader_epoch)


class ReadCopy(NamedTuple):
    """A copy that was examined."""

    copy: ExaminedCopy
    """As far as it is compared."""
    row: Row
    """As `tables.EXAMINED` has it: all that was found in it."""
    place: Storage
    before: DirectoryState
    """How its files stood before they were read."""

    @property
    def movement(self) -> str | None:
        """What has changed since, in words."""
        return self.before.movement(DirectoryState.of(self.place))


@dataclass(frozen=True, slots=True)
class DiskBroker:
    """A broker, by the snapshot that was named of it."""

    snapshot: Snapshot
    records: bool = False
    """Whether each record is decoded."""

    @property
    def name(self) -> str:
        """What its replicas are called by."""
        return self.snapshot.name

    @property
    def root_jobs(self) -> list[Job]:
        """Its roots' own files."""
        return [Job(self.name, root.storage.uri) for root in self.snapshot.roots]

    def copy_of(self, partition: TopicPartition) -> Copy | None:
        """Return the broker's copy of a partition; None where there is none, and the first where two disks have one."""
        return next((each for each in self.snapshot.copies() if each.topic_partition == partition), None)

    def read(self, copy: Copy, extent: Extent) -> ReadCopy:
        """Examine a copy, as far as it is compared.

        Raises ReplicaMovedError where it changes meanwhile, ReplicaUnreadError and CopyUnreadableError.
        """
        place = Storage(copy.root).child(copy.directory)
        before = DirectoryState.of(place)
        try:
            return ReadCopy(*self._read(copy, before, extent), place, before)
        except (ReplicaUnreadError, CopyUnreadableError):
            if moved := before.movement(DirectoryState.of(place)):
                raise ReplicaMovedError(moved) from None
            raise

    def _read(self, copy: Copy, before: DirectoryState, extent: Extent) -> tuple[ExaminedCopy, Row]:
        now = replace(copy, segments=tuple(segment_extents(before.sizes)))
        row = Examiner(records=self.records, is_live=True).row(Job(copy.replica, copy.root, now))
        if row.get("summary") is None:
            raise ReplicaUnreadError("; ".join(finding["message"] for finding in row["findings"]))
        read = examined_copy(row)
        if extent.cuts(read.summary):
            start = min(read.summary.log_start_offset, extent.end)
            bounds = Bounds(start, extent.end)
            replica = FetchedReplica(copy.replica, copy.topic_partition, bounds, is_compacted=extent.is_compacted)
            read = bounded(read, replica)
        return read, row


def bounded(copy: ExaminedCopy, replica: FetchedReplica) -> ExaminedCopy:
    """Return a copy as it is up to where others are compared: its batches are read once more.

    What is wrong with it beside that stays so. Raises CopyUnreadableError.
    """
    whole, (start, end) = copy.summary, replica.bounds
    log = FetchedLog(replica)
    segments = tuple(each for each in whole.segments if each.base_offset < end) or whole.segments[:1]
    with copy.logs([each.file for each in segments]) as directory:
        for segment in segments:
            for piece in _pieces(directory / segment.file, start, end):
                log.add(piece)
    told = log.summary(())
    summary = replace(
        told,
        topic_id=whole.topic_id,
        clean_shutdown=whole.clean_shutdown,
        begins_at=min(whole.begins_at, end),
        is_dropped=whole.is_dropped,
        is_stray=whole.is_stray,
        segments=segments,
        kept_segments=len(segments),
        valid_bytes=segments[-1].size if segments else 0,
        log_errors=whole.log_errors,
        errors=whole.errors,
        unread=whole.unread,
        unread_files=whole.unread_files,
    )
    # The digests are of what the files hold: where batches are read again, these have to fit.
    return replace(copy, summary=summary)


def _pieces(path: Path, start: int, end: int) -> Iterator[FetchedPiece]:
    with Segment(0, {FileKind.LOG: path}).open_log() as log:
        for columns in log.scan():
            rows = (columns.last_offset >= start) & (columns.base_offset < end)
            if rows.any():
                yield FetchedPiece(log, columns.where(rows))
            if len(columns) and columns.base_offset[-1] >= end:
                return


def disk_brokers(
    snapshots: Sequence[Snapshot], brokers: Iterable[int], cluster_id: str | None, *, records: bool = False
) -> dict[int, DiskBroker]:
    """Return the snapshots by whose they are.

    Raises NotAllowedError where that is not known, two are of one broker, one has another broker's name, or none of the
    cluster's `brokers` is left to be asked; and DifferentClustersError.
    """
    found: dict[int, DiskBroker] = {}
    of_roots = {root.storage.shown: root.cluster_id for snapshot in snapshots for root in snapshot.roots}
    ensure_one_cluster({"--bootstrap": cluster_id, **of_roots})
    for snapshot in snapshots:
        node_id = next((root.node_id for root in snapshot.roots if root.node_id is not None), None)
        if node_id is None:
            allowed = "a log.dirs root whose meta.properties has node.id: which broker's replicas these are"
            raise NotAllowedError("snapshots", snapshot.name, allowed)
        if node_id in found:
            raise NotAllowedError(
                "snapshots", snapshot.name, f"one copy of broker {node_id}, beside {found[node_id].name}"
            )
        found[node_id] = DiskBroker(snapshot, records)
    others: Mapping[str, int] = {broker_name(each): each for each in brokers if each not in found}
    if taken := [each.name for each in found.values() if each.name in others]:
        raise NotAllowedError(
            "snapshots", taken[0], "another NAME=: a broker that is read over the network is called so"
        )
    return found
