"""One replica that is fetched and examined at once, with a way back to its batches: kept here, or fetched again."""

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import ENOSPC
from itertools import pairwise
from pathlib import Path
from typing import Final
from uuid import UUID

from logstore.verify import Finding
from replication.base.errors import ReplicationError
from replication.cluster.network_audit.broker_reader import BrokerReader
from replication.cluster.network_audit.fetched_log import FetchedLog, FetchedReplica
from replication.cluster.network_audit.range_fetch import RangeFetch
from replication.cluster.network_audit.scanned_range import ScannedRange
from replication.copies.audit.comparison.examined_copy import ExaminedCopy, OpenLogs
from replication.copies.audit.copy_summary import CopySummary, SegmentExtent

MOST_KEPT: Final = 256 << 20
"""Bytes of a replica that are kept while its partition is compared, where the cleaner may change what it holds."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A replica that was fetched."""

    copy: ExaminedCopy
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class ReplicaFetch:
    """How a replica is fetched."""

    reader: BrokerReader
    replica: FetchedReplica
    leader_epoch: int
    topic_id: UUID | None
    directory: Path
    """For what is kept of it, and what is fetched again: empty at first, and not removed here."""
    progress: Callable[[int], object] = lambda _bytes: None

    def fetch(self) -> Fetched:
        """Fetch it all, and keep what is compared. Raises ReplicaMovedError, ReplicaUnreadError and OSError."""
        log = FetchedLog(self.replica)
        start, end = self.replica.bounds
        kept: dict[str, SegmentExtent] = {}
        for piece in self.reader.read(self._range(start, end)):
            segment = log.add(piece)
            self.progress(len(piece.data))
            if segment.file in kept or (self._may_be_cleaned and sum(each.size for each in kept.values()) < MOST_KEPT):
                kept[segment.file] = segment
                with open(self.directory / segment.file, "ab") as file:
                    file.write(piece.data)
        return self._fetched(log, kept)

    def of_ranges(self, ranges: Iterable[ScannedRange]) -> Fetched:
        """Return the same of ranges that were fetched elsewhere, in order: nothing of them is kept here."""
        log = FetchedLog(self.replica)
        for each in ranges:
            for piece in each.pieces:
                log.add_scanned(piece)
            log.add_findings(each.findings)
        return self._fetched(log, {})

    def _fetched(self, log: FetchedLog, kept: Collection[str]) -> Fetched:
        findings = log.findings()
        summary = log.summary(findings)
        place = f"{self.replica.partition} on {self.replica.name}"
        return Fetched(ExaminedCopy(summary, log.watch.digests, self._open(summary, kept), place), findings)

    @property
    def _may_be_cleaned(self) -> bool:
        return self.replica.is_compacted is not False

    def _open(self, summary: CopySummary, kept: Collection[str]) -> OpenLogs:
        """Fetch those of a summary's segments again that were not kept, for as long as they are needed."""
        start, end = self.replica.bounds
        nexts = dict(pairwise([*(segment.base_offset for segment in summary.segments), end]))

        @contextmanager
        def open_logs(names: Collection[str]) -> Iterator[Path]:
            lacking = [each for each in summary.segments if each.file in names and each.file not in kept]
            _ensure_room(self.directory, sum(segment.size for segment in lacking))
            try:
                for segment in lacking:
                    first = max(segment.base_offset, start)
                    self._write(self.directory / segment.file, first, nexts[segment.base_offset])
                yield self.directory
            finally:
                for segment in lacking:
                    with suppress(OSError):
                        (self.directory / segment.file).unlink()

        return open_logs

    def _write(self, path: Path, first: int, end: int) -> None:
        """Write what is fetched of a range. Raises OSError."""
        try:
            with open(path, "wb") as file:
                file.writelines(piece.data for piece in self.reader.read(self._range(first, end)))
        except ReplicationError as error:
            raise OSError(f"{self.replica.name}: {error}") from error

    def _range(self, first: int, end: int) -> RangeFetch:
        return RangeFetch(self.replica.partition, first, end, self.leader_epoch, self.topic_id)


def _ensure_room(directory: Path, size: int) -> None:
    """Raise OSError where the disk would be filled."""
    free = shutil.disk_usage(directory).free
    if size > free:
        message = f"{size:,} bytes are to be read again, and {free:,} are free: name a directory with more in TMPDIR"
        raise OSError(ENOSPC, message, str(directory))
