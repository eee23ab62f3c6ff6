"""Examines the copies of one task, wherever they are: what cannot be read, or changes meanwhile, is a finding."""

import json
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

from logstore.errors import LogStoreError
from logstore.file_name import FileKind
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify.finding import UNREADABLE, Finding, Reporter, Severity
from logstore.verify.root_check import check_root
from replication.base.errors import PartitionVanishedError, ReplicationError
from replication.copies.audit.examination.copies_ahead import CopiesAhead
from replication.copies.audit.examination.examination import (
    Examination,
    PieceExamination,
    examine,
    examine_lineage,
    examine_piece,
)
from replication.copies.audit.examination.kept.header_cache import CopyHeaders, HeaderCache, not_kept
from replication.copies.audit.examination.kept.standing_copy import CopyState, RootState, StandingCopies
from replication.copies.audit.examination.range_digests import RangeDigests
from replication.copies.audit.examination.transfers import (
    WRONG_LENGTH,
    FetchedDamage,
    TransfersDifferError,
    altered_once,
    fetched_damage,
    transfer_damaged,
)
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.changes import changes, listed_again
from replication.copies.audit.snapshots.remote.remote_directory import Altered
from replication.copies.audit.snapshots.remote.requests import IN_FLIGHT
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import Copy, Job, Task

Row = dict[str, Any]
"""As `tables.EXAMINED` has it; what is left out is null."""
Look = Callable[[Path, Copy, CopyHeaders], Examination]
VANISHED: Final = "copy-vanished"
LOOKS_AT_DAMAGE: Final = 2
"""How often a remote copy is fetched again in which there is damage."""
LOOKS_AGAIN: Final = 2
"""How often a copy is examined again that changes meanwhile."""
FAILURES: Final = (LogStoreError, ReplicationError, OSError)
"""Why a copy cannot be read."""


class FetchedCopy(NamedTuple):
    """A copy that can be read for as long as its context is entered."""

    directory: Path
    headers: CopyHeaders
    altered: set[str]
    """The files that were altered on their way."""


class LocalRoots:
    """Local directories with what stands beside the partitions of remote roots; they go when this object does."""

    def __init__(self) -> None:
        self._paths: dict[str, Path] = {}
        self._copies = ExitStack()
        self._lock = Lock()
        weakref.finalize(self, self._copies.close)

    def of(self, root: Storage, altered: Altered) -> Path | None:
        """Return the one of a root, fetched at the first call; None for a local root. Raises OSError.

        `altered` is called then with files that were altered on their way.
        """
        if root.is_local:
            return None
        with self._lock:
            if root.uri not in self._paths:
                self._paths[root.uri] = self._copies.enter_context(root.own_files(altered))
            return self._paths[root.uri]

    def forget(self, uri: str) -> None:
        """Fetch the files of a root anew the next time: it has changed."""
        self._paths.pop(uri, None)


class Examiner:
    """Makes the rows of one task; the own files of remote roots are fetched once for all copies in it."""

    def __init__(
        self,
        *,
        records: bool = False,
        read_at: int = 0,
        cache: HeaderCache | None = None,
        standing: StandingCopies | None = None,
        is_live: bool = False,
    ) -> None:
        """Examine for an audit that began at `read_at`, in microseconds since 1970 UTC; `cache` spares reading.

        So does `standing`, of whole copies.

        With `is_live` brokers write to the copies: what has changed meanwhile is read again by whoever looks at all
        copies of a partition, and what `cache` has seen of files that stood still counts all the same.
        """
        self._records = records
        self._read_at = read_at
        self._cache = cache
        self._standing = standing
        self._is_live = is_live
        self._looks_again = 0 if is_live else LOOKS_AGAIN
        self._roots = LocalRoots()
        self._root_states: dict[str, RootState] = {}
        """By their URIs, as roots were when the first copy was looked at, or when one had changed last."""
        self._ahead: CopiesAhead[FetchedCopy] | None = None
        self._damage: set[FetchedDamage] = set()
        """What was wrong in the last look, of a remote copy."""
        self._altered: set[str] = set()
        """The files that were altered on their way in some look at the copy."""

    def rows(self, task: Task) -> Iterator[Row]:
        """Examine all of a task, and fetch small remote copies that follow meanwhile."""
        recalled = list(zip(task, self._all_recalled(task), strict=True))
        unknown = [job.copy for job, row in recalled if row is None and not job.ranges]
        whole = [copy for copy in unknown if copy is not None and not copy.is_local]
        with CopiesAhead(whole, self._fetched) as self._ahead:
            for job, row in recalled:
                yield row or self.row(job)

    def row(self, job: Job) -> Row:
        """Examine a root, a copy, or a part of one, whatever is wrong with it."""
        if job.copy is None:
            return self._root(job)
        if job.ranges:
            return self._part(job, job.copy)
        return self._whole(job.copy, self._examine)

    def recalled(self, copy: Copy) -> Row | None:
        """Return what an earlier audit has found in a copy that stands as it was; None where it is to be read."""
        if self._standing is None:
            return None
        try:
            row = self._standing.recalled(copy, self._root_seen(copy))
        except FAILURES:  # reading it will say why
            return None
        return None if row is None else {**copy_row(copy), "is_part": False, **row}

    def _all_recalled(self, task: Task) -> list[Row | None]:
        """Recall all of a task, those in stores at once, where each request's latency counts."""
        if self._standing is None or not any(job.copy and not job.copy.is_local for job in task):
            return [self._recalled(job) for job in task]
        for root in {job.copy.root: job.copy for job in task if job.copy}.values():
            with suppress(*FAILURES):
                self._root_seen(root)
        with ThreadPoolExecutor(IN_FLIGHT, "copies that may stand") as pool:
            return list(pool.map(self._recalled, task))

    def _recalled(self, job: Job) -> Row | None:
        return None if job.copy is None or job.ranges else self.recalled(job.copy)

    def finish(self, copy: Copy, pieces: Sequence[PieceExamination | None]) -> Row:
        """Examine what only the whole shows of a copy that was read in parts.

        All of it is read again where it has changed, where a part could not be read, or had damage when it was fetched.
        """
        read = [piece for piece in pieces if piece is not None]
        is_doubtful = not copy.is_local and any(piece.corrupt or piece.findings for piece in read)
        if len(read) < len(pieces) or is_doubtful or any(changes(copy)):
            return self._whole(copy, self._examine)

        def finish(directory: Path, copy: Copy, headers: CopyHeaders) -> Examination:
            spared = frozenset().union(*(piece.cached for piece in read))
            if not spared.issubset(headers.cached):
                return self._examine(directory, copy, headers)
            headers.keep_only(spared)
            return examine_lineage(self._open(directory), copy.replica, read, headers)

        return self._whole(copy, finish)

    def _root(self, job: Job) -> Row:
        try:
            with Storage(job.root).local_copy("") as path:
                findings = [
                    ReplicaFinding(job.replica, finding) for finding in check_root(OfflineLogDirectory.open(path))
                ]
        except FAILURES as error:
            findings = [_unread(job.replica, Reporter(None), UNREADABLE, f"nothing was checked: {error}")]
        return {"replica": job.replica, "root": job.root, "is_part": False, "findings": _as_json(findings)}

    def _part(self, job: Job, copy: Copy) -> Row:
        files = {segment.base_offset: segment.file for segment in copy.segments}
        wanted = {files[part.base_offset] for part in job.ranges}
        row = {**copy_row(copy), "is_part": True}
        try:
            headers = self._headers(copy)
            with self._local_copy(copy, headers, set[str]().add, wanted) as directory:
                partition = self._open(directory)
                if not wanted.issubset(partition.listing.files):
                    return row
                piece = examine_piece(partition, copy.replica, job.ranges, records=self._records, headers=headers)
        except FAILURES:  # all of the copy is read again, and says why
            return row
        return {
            **row,
            "findings": _as_json(piece.findings),
            "digests": piece.digests.to_bytes(),
            "piece": json.dumps({"corrupt": piece.corrupt, "cached": sorted(piece.cached)}).encode(),
        }

    def _whole(self, copy: Copy, look: Look) -> Row:
        """Examine a copy; again, where it has changed meanwhile. One that changes each time counts as not read."""
        self._altered.clear()
        try:
            examination, changed, headers = self._confirmed(copy, look)
            for _ in range(self._looks_again if changed else 0):
                copy = listed_again(copy)
                examination, changed, headers = self._confirmed(copy, self._examine)
                if not changed:
                    break
        except FAILURES as error:
            self._forget(copy)
            return {**copy_row(copy), "is_part": False, "findings": _as_json([_failure(copy, error)])}
        summary = examination.summary
        segments = list(self._segment_rows(examination, headers))
        if changed:
            summary = replace(summary, unread=summary.unread + len(changed))
        row = {
            **copy_row(copy),
            "is_part": False,
            "findings": _as_json([*examination.findings, *changed]),
            "summary": summary.to_bytes(),
            "digests": examination.digests.to_bytes(),
            "segments": segments,
            "epochs": [epoch._asdict() for epoch in examination.epochs],
            "bytes_read": sum(segment["bytes"] for segment in segments if segment["read_at"] == self._read_at),
            "oldest_read": min((segment["read_at"] for segment in segments), default=None),
        }
        if changed:
            self._forget(copy)
            return row
        return row if self._standing is None else self._kept(self._standing, copy, headers, row)

    def _forget(self, copy: Copy) -> None:
        """Forget what an earlier audit has found in a copy: it counts no more, however the copy looks the next time."""
        if self._standing is not None:
            with suppress(OSError):
                self._standing.forget(copy)

    def _kept(self, standing: StandingCopies, copy: Copy, headers: CopyHeaders, row: Row) -> Row:
        """Keep the row for the next audit; that it cannot be kept is a finding."""
        ends = headers.keeper.ends if headers.keeper else {}
        try:
            standing.keep(copy, headers.before, ends, row)
        except OSError as error:
            return {**row, "findings": [*row["findings"], *_as_json([not_kept(copy, error)])]}
        return row

    def _confirmed(self, copy: Copy, look: Look) -> tuple[Examination, Sequence[ReplicaFinding], CopyHeaders]:
        """Examine a copy once; a remote one in which there is damage until a look finds none, or the same once more.

        Each look fetches the files anew, over connections of its own: a transfer may have damaged them. Raises
        TransfersDifferError where all have other damage: of what such a copy holds nothing is known.
        """
        seen = self._look(copy, look)
        told: list[ReplicaFinding] = []
        for _ in range(0 if copy.is_local else LOOKS_AT_DAMAGE):
            damage = self._damage
            if not damage or seen[1]:
                break
            again = self._look(copy, self._examine)
            if self._damage == damage and WRONG_LENGTH not in {each.kind for each in damage}:
                break
            told = [transfer_damaged(copy, damage)]
            seen = again
        else:
            if told and self._damage and not seen[1]:
                raise TransfersDifferError
        examination, changed, headers = seen
        told += (altered_once(copy, file) for file in sorted(self._altered))
        return replace(examination, findings=(*examination.findings, *told)), changed, headers

    def _look(self, copy: Copy, look: Look) -> tuple[Examination, Sequence[ReplicaFinding], CopyHeaders]:
        """Examine a copy once, and see what has changed meanwhile: then the root's files are read anew next time."""
        entered = self._ahead.entered(copy) if self._ahead is not None else self._fetched(copy)
        with entered as (directory, headers, altered):
            examination = look(directory, copy, headers)
            changed = tuple(changes(copy))
            self._altered |= altered
            self._damage = set() if copy.is_local else fetched_damage(copy, examination, directory)
        if changed:
            self._roots.forget(copy.root)
            self._root_states.pop(copy.root, None)
        if self._cache is not None and (self._is_live or not changed):
            examination = self._keep(self._cache, copy, headers, examination, self._damaged_logs())
        return examination, changed, headers

    def _examine(self, directory: Path, copy: Copy, headers: CopyHeaders) -> Examination:
        return examine(self._open(directory), copy.replica, records=self._records, headers=headers)

    def _headers(self, copy: Copy) -> CopyHeaders:
        before = CopyState.of(copy, self._root_seen(copy)) if self._standing is not None else None
        headers = self._cache.of(copy) if self._cache is not None else CopyHeaders()
        headers.before = before
        return headers

    def _damaged_logs(self) -> set[str]:
        """Name the `.log` files of a remote copy in which there was damage when they were fetched last."""
        return {each.file for each in self._damage if each.file.endswith(f".{FileKind.LOG}")}

    @staticmethod
    def _keep(
        cache: HeaderCache, copy: Copy, headers: CopyHeaders, examination: Examination, damaged: Collection[str]
    ) -> Examination:
        """Keep what was read for the next audit, unless some was `damaged`; what cannot be kept is a finding."""
        faulty = {finding.finding.file for finding in examination.findings if finding.finding.file}
        try:
            if damaged:
                cache.forget(copy, damaged)
            else:
                cache.save(copy, headers, faulty)
        except OSError as error:
            return replace(examination, findings=(*examination.findings, not_kept(copy, error)))
        return examination

    def _segment_rows(self, examination: Examination, headers: CopyHeaders) -> Iterator[Row]:
        for segment in examination.segments:
            known = headers.cached.get(segment.file)
            yield {**segment._asdict(), "read_at": known.read_at if known else self._read_at}

    @contextmanager
    def _fetched(self, copy: Copy) -> Iterator[FetchedCopy]:
        altered: set[str] = set()
        headers = self._headers(copy)
        with self._local_copy(copy, headers, altered.add) as directory:
            yield FetchedCopy(directory, headers, altered)

    def _root_seen(self, copy: Copy) -> RootState:
        """Look at what stands beside a copy, for the first one of its root. Raises OSError."""
        if copy.root not in self._root_states:
            root = Storage(copy.root)
            self._root_states[copy.root] = RootState.of(self._roots.of(root, _untold) or root.path)
        return self._root_states[copy.root]

    def _local_copy(
        self, copy: Copy, headers: CopyHeaders, altered: Altered, only: Collection[str] | None = None
    ) -> AbstractContextManager[Path]:
        storage = Storage(copy.root)
        root = self._roots.of(storage, altered)
        return storage.local_copy(
            copy.directory, files=copy.files, only=only, stand_ins=headers.stand_ins, root=root, altered=altered
        )

    @staticmethod
    def _open(directory: Path) -> PartitionDirectory:
        return PartitionDirectory.open(directory, root=directory.parent)


def _untold(_file: str) -> None:
    """Report no file of a root that was altered on its way: the root's own row does."""


def piece_of(row: Row) -> PieceExamination | None:
    """Return what was found in a part, from its row; None where it could not be read."""
    if row["digests"] is None:
        return None
    found = json.loads(row["piece"])
    corrupt = tuple((file, position) for file, position in found["corrupt"])
    findings = tuple(
        ReplicaFinding(finding.pop("replica"), Finding(**{**finding, "severity": Severity(finding["severity"])}))
        for finding in map(dict, row["findings"])
    )
    return PieceExamination(RangeDigests.from_bytes(row["digests"]), corrupt, findings, frozenset(found["cached"]))


def copy_of(row: Row) -> Copy:
    """Return the copy that a row is about."""
    return Copy.from_json(json.loads(row["copy"]))


def copy_row(copy: Copy) -> Row:
    """Return a row that names its copy."""
    topic, partition = copy.topic_partition
    return {
        "replica": copy.replica,
        "topic": topic,
        "partition": partition,
        "root": copy.root,
        "copy": json.dumps(replace(copy, others=None, listed=None).to_json()),
    }


def _failure(copy: Copy, error: Exception) -> ReplicaFinding:
    place = Storage(copy.root).child(copy.directory)
    gone = isinstance(error, (PartitionVanishedError, FileNotFoundError)) or (
        place.is_local and not place.path.exists()
    )
    report = Reporter(copy.topic_partition)
    if gone:
        what = (
            f"{place.shown} was there when the snapshot was listed, but is gone: the contents of this copy are "
            "unknown; audit a snapshot that no process changes"
        )
        return _unread(copy.replica, report, VANISHED, what)
    return _unread(copy.replica, report, UNREADABLE, f"{place.shown}: nothing was checked: {error}")


def _unread(replica: str, report: Reporter, kind: str, what: str) -> ReplicaFinding:
    return ReplicaFinding(replica, report.error(kind, what, file=None))


def _as_json(findings: Iterable[ReplicaFinding]) -> list[Row]:
    return [finding.as_json() for finding in findings]
