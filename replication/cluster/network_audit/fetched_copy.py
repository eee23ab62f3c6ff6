"""One replica that is fetched and examined at once, with a way to fetch parts of it again."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from logstore.verify import Finding
from replication.base.errors import ReplicationError
from replication.cluster.network_audit.broker_reader import BrokerReader
from replication.cluster.network_audit.fetched_log import FetchedLog, FetchedReplica
from replication.cluster.network_audit.range_fetch import RangeFetch
from replication.copies.audit.comparison.examined_copy import ExaminedCopy, OpenLogs
from replication.copies.audit.copy_summary import CopySummary


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

    def fetch(self) -> Fetched:
        """Fetch it all, and keep what is compared. Raises ReplicaMovedError and ReplicaUnreadError."""
        log = FetchedLog(self.replica)
        start, end = self.replica.bounds
        for piece in self.reader.read(self._range(start, end)):
            log.add(piece)
        findings = log.findings()
        summary = log.summary(findings)
        place = f"{self.replica.partition} on {self.replica.name}"
        return Fetched(ExaminedCopy(summary, log.watch.digests, self._open(summary), place), findings)

    def _open(self, summary: CopySummary) -> OpenLogs:
        """Fetch the segments of a summary again, into a directory that is there as long as it is entered."""
        start, end = self.replica.bounds
        bases = [segment.base_offset for segment in summary.segments]
        nexts = dict(pairwise([*bases, end]))

        @contextmanager
        def open_logs(names: Collection[str]) -> Iterator[Path]:
            with TemporaryDirectory(prefix="epochlog-") as directory:
                for segment in summary.segments:
                    if segment.file in names:
                        base = segment.base_offset
                        self._write(Path(directory, segment.file), max(base, start), nexts[base])
                yield Path(directory)

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
