"""One pass over a copy of a partition that finds all there is to find in it alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from epoch import EpochError, EpochHistory
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import checkpointed_history
from logstore.verify import Finding, verify_partition
from logstore.verify.finding import Reporter
from logstore.verify.log_pass import Check, Chunk, LogPass, Scan, SilentCheck
from logstore.verify.record_check import RecordCheck
from replication.base.errors import PartitionVanishedError
from replication.copies.audit.copy_summary import CopySummary
from replication.copies.audit.examination.copy_watch import CopyWatch
from replication.copies.audit.examination.kept.header_cache import CopyHeaders
from replication.copies.audit.examination.part_scan import KnownChecksums, PartScan
from replication.copies.audit.examination.range_digests import RangeDigests
from replication.copies.audit.examination.summarizing import CHANGED_WHILE_READ, summarize
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.work import ByteRange


class PieceWatch(SilentCheck):
    """Keeps the digests of what it sees, the batches whose checksums do not match, and what is wrong with records."""

    def __init__(self, report: Reporter, *, records: bool) -> None:
        self.digests = RangeDigests()
        self.corrupt: list[tuple[str, int]] = []
        """Files and positions."""
        self.findings: list[Finding] = []
        self._record_check = RecordCheck(report) if records else None

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """See `Check`."""
        self.digests.add(chunk.columns)
        wrong = np.flatnonzero(~chunk.columns.crc_valid)
        file = chunk.segment.log_path.name
        self.corrupt += [(file, position) for position in chunk.columns.position[wrong].tolist()]
        if self._record_check:
            self.findings += self._record_check.batches(chunk)
        yield from ()


class SegmentRow(NamedTuple):
    """One segment of one copy. Offsets are of the batches that can be read, -1 where there are none."""

    replica: str
    topic: str
    partition: int
    base_offset: int
    file: str
    bytes: int
    batches: int
    records: int
    first_offset: int
    last_offset: int
    min_timestamp: int
    """Milliseconds since 1970 UTC, of batches' base timestamps; -1 where there are none."""
    max_timestamp: int
    corrupt_batches: int


class EpochRow(NamedTuple):
    """One leader epoch of one copy: what the checkpoint says and what the batches carry; None where one is silent."""

    replica: str
    topic: str
    partition: int
    epoch: int
    checkpoint_start_offset: int | None
    first_offset: int | None
    last_offset: int | None
    batches: int


@dataclass(frozen=True, slots=True)
class Examination:
    """All that was found in one copy."""

    summary: CopySummary
    digests: RangeDigests
    findings: tuple[ReplicaFinding, ...]
    segments: tuple[SegmentRow, ...]
    epochs: tuple[EpochRow, ...]


@dataclass(frozen=True, slots=True)
class PieceExamination:
    """What the bytes of a part of a copy show, without what only the whole can."""

    digests: RangeDigests
    corrupt: tuple[tuple[str, int], ...]
    """Batches whose checksum does not match: their files' names, and their positions there."""
    findings: tuple[ReplicaFinding, ...]
    """About records."""
    cached: frozenset[str] = frozenset()
    """The files of which an earlier audit has read these bytes."""


def examine(
    partition: PartitionDirectory,
    replica: str,
    *,
    records: bool = False,
    progress: Callable[[int], None] = lambda _bytes: None,
    headers: CopyHeaders | None = None,
) -> Examination:
    """Read a copy once. With `records` every record is decoded; `progress` is called with the number of bytes read.

    What `headers` has is not read. Damage is what is found, never an error that is raised. Raises
    PartitionVanishedError where the directory is gone.
    """
    known = headers or CopyHeaders()
    return _examine(partition, replica, known, records=records, progress=progress, scan=known.scanning())


def examine_piece(
    partition: PartitionDirectory,
    replica: str,
    ranges: Sequence[ByteRange],
    *,
    records: bool = False,
    progress: Callable[[int], None] = lambda _bytes: None,
    headers: CopyHeaders | None = None,
) -> PieceExamination:
    """Read parts of a copy, for which only their segments' `.log` files need be there; what `headers` has is not read.

    The first batch of a part is found by a walk over the headers before it; `progress` is called with the bytes read.
    Raises OSError where a file cannot be read.
    """
    watch = PieceWatch(Reporter(partition.topic_partition), records=records)
    segments = {segment.base_offset: segment for segment in partition.segments}
    cached = (headers or CopyHeaders()).cached
    for part in ranges:
        segment = segments[part.base_offset]
        if segment.log_path.name in cached:
            watch.digests.add(cached[segment.log_path.name].between(part.start, part.end))
            continue
        segment.size  # noqa: B018  raises OSError where it is gone, which the pass would only report
        scan = PartScan(part.start, part.end).scan
        for _ in LogPass([segment], [watch], Reporter(None), scan=scan).run():
            pass  # damage is reported once all parts were read
        progress(part.end - part.start)
    findings = tuple(ReplicaFinding(replica, finding) for finding in watch.findings)
    spared = frozenset(segments[part.base_offset].log_path.name for part in ranges).intersection(cached)
    return PieceExamination(watch.digests, tuple(watch.corrupt), findings, spared)


def examine_lineage(
    partition: PartitionDirectory,
    replica: str,
    pieces: Sequence[PieceExamination],
    headers: CopyHeaders | None = None,
) -> Examination:
    """Finish the examination of a copy whose parts, taken together, were all read: only headers are read again.

    Those that `headers` has are not read. Raises PartitionVanishedError where the directory is gone.
    """
    corrupt: dict[str, list[int]] = {}
    for piece in pieces:
        for file, position in piece.corrupt:
            corrupt.setdefault(file, []).append(position)
    known = KnownChecksums({file: np.array(positions, np.int64) for file, positions in corrupt.items()})
    told = headers or CopyHeaders()
    return _examine(partition, replica, told, scan=told.scanning(known.scan), pieces=pieces)


def _examine(
    partition: PartitionDirectory,
    replica: str,
    headers: CopyHeaders,
    *,
    scan: Scan,
    records: bool = False,
    progress: Callable[[int], None] = lambda _bytes: None,
    pieces: Sequence[PieceExamination] = (),
) -> Examination:
    """Make the pass; what `pieces` have found already is added."""
    watches: list[CopyWatch] = []

    def watch(listed: PartitionDirectory) -> Sequence[Check]:
        watches.append(CopyWatch(listed))
        return [watches[-1], *headers.watch()]

    decoded = headers.with_records
    found = list(
        verify_partition(partition, records=records, decoded=decoded, progress=progress, watch=watch, scan=scan)
    )
    if not partition.path.exists():
        raise PartitionVanishedError(partition.path)
    seen = watches[-1]
    found += [known.finding for piece in pieces for known in piece.findings]
    if pieces and RangeDigests.merged(piece.digests for piece in pieces) != seen.digests:
        found.append(_changed(partition))
    findings = (*headers.findings, *(ReplicaFinding(replica, finding) for finding in found))
    history = _checkpointed(seen.partition)
    return Examination(
        summarize(seen, history, replica, found),
        seen.digests,
        findings,
        tuple(_segment_rows(seen, replica)),
        tuple(_epoch_rows(seen, history, replica)),
    )


def _changed(partition: PartitionDirectory) -> Finding:
    return Reporter(partition.topic_partition).warning(
        CHANGED_WHILE_READ,
        "the log was changed while it was read, so that its parts do not match its headers any more; audit a copy "
        "that is not written to",
        file=None,
    )


def _checkpointed(partition: PartitionDirectory) -> EpochHistory | None:
    """Read the leader-epoch checkpoint; None where that cannot be."""
    try:
        return checkpointed_history(partition)
    except (EpochError, OSError):
        return None


def _segment_rows(watch: CopyWatch, replica: str) -> Iterator[SegmentRow]:
    topic, partition = watch.partition.topic_partition
    for tally in watch.segments:
        yield SegmentRow(
            replica=replica,
            topic=topic,
            partition=partition,
            base_offset=tally.segment.base_offset,
            file=tally.segment.log_path.name,
            bytes=tally.size,
            batches=tally.batches,
            records=tally.records,
            first_offset=tally.first_offset,
            last_offset=tally.last_offset,
            min_timestamp=tally.min_timestamp,
            max_timestamp=tally.max_timestamp,
            corrupt_batches=tally.corrupt_batches,
        )


def _epoch_rows(watch: CopyWatch, history: EpochHistory | None, replica: str) -> Iterator[EpochRow]:
    topic, partition = watch.partition.topic_partition
    rising, _ = watch.runs.split()
    runs = {run.epoch: run for run in rising}
    starts = {entry.epoch: entry.start_offset for entry in history.entries} if history else {}
    for epoch in sorted({*runs, *starts}):
        run = runs.get(epoch)
        yield EpochRow(
            replica=replica,
            topic=topic,
            partition=partition,
            epoch=epoch,
            checkpoint_start_offset=starts.get(epoch),
            first_offset=run.first_offset if run else None,
            last_offset=run.last_offset if run else None,
            batches=run.batches if run else 0,
        )
