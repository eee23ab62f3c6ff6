"""What is kept of a replica that was fetched: digests and a summary, not its bytes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from epoch import EpochEntry
from epoch.history import MAX_OFFSET
from logstore.batch.columns import BatchColumns
from logstore.file_name import FileKind, file_name
from logstore.offline.epoch_runs import EpochRun, runs_of
from logstore.offline.log_file import LogFile
from logstore.offline.segment import Segment
from logstore.topic_partition import ALWAYS_COMPACTED, TopicPartition
from logstore.verify.batch_totals import BatchTotals
from logstore.verify.compaction import Compaction
from logstore.verify.corrupt_runs import CorruptRuns
from logstore.verify.finding import Finding, Reporter
from logstore.verify.header_check import HeaderCheck
from logstore.verify.log_pass import Check, Chunk
from logstore.verify.record_check import RecordCheck
from replication.cluster.network_audit.range_fetch import FetchedPiece
from replication.cluster.network_audit.replica_bounds import Bounds
from replication.cluster.network_audit.scanned_piece import ScannedPiece
from replication.copies.audit.copy_summary import CopySummary, OffsetRange, SegmentExtent
from replication.copies.audit.examination.batch_watch import BatchWatch
from replication.copies.audit.examination.summarizing import misfit_ranges

SEGMENT_BYTES: Final = 8 << 20
"""Pieces are counted together up to about this size: what is read again later, where digests differ."""


@dataclass(frozen=True, slots=True)
class FetchedReplica:
    """Whose log it is, and what is known of it beside its batches."""

    name: str
    partition: TopicPartition
    bounds: Bounds
    topic_id: str | None = None
    """As `partition.metadata` writes it."""
    is_compacted: bool | None = None
    """By the topic's settings; None where they are not known."""
    records: bool = False
    """Whether each record is decoded."""


class FetchedLog:
    """Takes in what is fetched of a replica, in order."""

    def __init__(self, replica: FetchedReplica) -> None:
        self.replica = replica
        self.watch: Final = BatchWatch(replica.bounds.start)
        report = Reporter(replica.partition)
        self._corrupt_runs: Final = CorruptRuns(report)
        always = replica.partition.topic in ALWAYS_COMPACTED
        self._compaction: Final = Compaction(
            found=always or bool(replica.is_compacted), is_untold=replica.is_compacted is None
        )
        records = [RecordCheck(report)] if replica.records else []
        self._headers: Final = HeaderCheck(report)
        self._checks: Final[Sequence[Check]] = [self._compaction, self.watch, self._headers, *records]
        self._segments: Final[list[SegmentExtent]] = []
        self._batches = self._records = 0
        self._found: Final[list[Finding]] = []

    def add(self, piece: FetchedPiece) -> SegmentExtent:
        """Count in the next batches; return the segment that they belong to, as far as it goes by now."""
        chunk = self._chunk(piece.columns, piece.log, len(piece.data))
        self._found.extend(finding for check in self._checks for finding in check.batches(chunk))
        return self._segments[-1]

    def add_scanned(self, piece: ScannedPiece) -> None:
        """Count in batches that were fetched elsewhere: their records were decoded there, if at all."""
        chunk = self._chunk(piece.columns, LogFile(memoryview(b"")), piece.size)
        kept = replace(chunk, log=LogFile(memoryview(piece.kept)), columns=piece.placed)
        self._found.extend(self._compaction.batches(kept))
        of_headers = (self.watch, self._headers)
        self._found.extend(finding for check in of_headers for finding in check.batches(chunk))

    def add_findings(self, findings: Iterable[Finding]) -> None:
        """Count in what was found about records elsewhere."""
        self._found.extend(findings)

    def _chunk(self, columns: BatchColumns, log: LogFile, size: int) -> Chunk:
        """Count batches, and return them as checks take them."""
        totals = BatchTotals.of(columns)
        self._extend(int(columns.base_offset[0]), size)
        self._batches += len(columns)
        self._records += totals.records
        name = file_name(FileKind.LOG, self.watch.batches_end)
        segment = Segment(self.watch.batches_end, {FileKind.LOG: Path(name)})
        if totals.corrupt:
            self._found.extend(self._corrupt_runs.add(name, columns))
        return Chunk(segment, False, log, columns, totals, runs_of(columns, name))

    def findings(self) -> tuple[Finding, ...]:
        """Return what is wrong with the batches, once all were taken in: there is no file to name."""
        self._found.extend(self._corrupt_runs.end())
        self._found.extend(finding for check in self._checks for finding in check.end(self.replica.bounds.end))
        return tuple(replace(finding, file=None, position=None) for finding in self._found)

    def summary(self, findings: Sequence[Finding]) -> CopySummary:
        """Return what copies on disks are compared by; what cannot be seen from outside counts as being in order.

        The segments are those of `add`, and not the broker's: a name for each stretch that is fetched again together.
        """
        replica, (start, end) = self.replica, self.replica.bounds
        rising, misfit = self.watch.runs.split()
        lineage = _lineage(rising, start)
        cleaned_to = end if self._compaction.found else 0
        errors = sum(finding.severity.is_damage for finding in findings)
        return CopySummary(
            replica=replica.name,
            topic=replica.partition.topic,
            partition=replica.partition.partition,
            topic_id=replica.topic_id,
            clean_shutdown=False,
            log_start_offset=start,
            begins_at=start,
            recorded_start=None,
            is_dropped=False,
            is_stray=False,
            log_end_offset=end,
            readable_end_offset=end,
            high_watermark=end,
            checkpointed_high_watermark=end,
            high_watermark_unread=False,
            recovery_point=None,
            cleaner_offset=None,
            cleaned_to=cleaned_to,
            history=lineage,
            lineage=lineage,
            checkpointed_epochs=(),
            misfit_epochs=misfit_ranges(misfit, end),
            corrupt=tuple(self.watch.corrupt),
            gaps=tuple(self._gaps(cleaned_to)),
            segments=tuple(self._segments),
            kept_segments=len(self._segments),
            valid_bytes=self._segments[-1].size if self._segments else 0,
            damage=None,
            log_errors=errors,
            errors=errors,
            unread=0,
            unread_files=(),
            batches=self._batches,
            records=self._records,
            log_bytes=sum(segment.size for segment in self._segments),
            open_transactions=self.watch.producers.open_transactions,
            last_markers=self.watch.producers.last_markers,
            producers=self.watch.producers.producers,
        )

    def _extend(self, base_offset: int, size: int) -> None:
        if self._segments and self._segments[-1].size < SEGMENT_BYTES:
            last = self._segments[-1]
            self._segments[-1] = last._replace(size=last.size + size)
        else:
            self._segments.append(SegmentExtent(base_offset, size))

    def _gaps(self, cleaned_to: int) -> Iterator[OffsetRange]:
        for first, last in (*self.watch.gaps, (self.watch.batches_end, MAX_OFFSET)):
            if max(first, cleaned_to) <= last:
                yield OffsetRange(max(first, cleaned_to), last)


def _lineage(rising: Sequence[EpochRun], start: int) -> tuple[EpochEntry, ...]:
    """Return who led when, as the batches show it; the first epoch begins where the log does."""
    return tuple(EpochEntry(run.epoch, max(run.first_offset, start)) for run in rising)
