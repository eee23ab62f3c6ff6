"""The rows of copies that options choose, by tasks of about equal bytes."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from math import inf
from pathlib import Path
from typing import Final

import pyarrow as pa

from epoch.checkpoint import LEADER_EPOCH_CHECKPOINT
from logstore.errors import CorruptBatchError, LogStoreError
from logstore.file_name import FileFate, parse_file_name
from logstore.offline.partition_directory import PartitionDirectory
from replication.base.chosen_topics import is_pattern
from replication.base.errors import NothingChosenError
from replication.copies.audit.examination.examination import EpochRow, SegmentRow, examine
from replication.copies.audit.examination.summarizing import NOT_READ
from replication.copies.audit.log_rows.arrow_arrays import Constants
from replication.copies.audit.log_rows.batch_reader import BatchReader
from replication.copies.audit.log_rows.bounded_copy import bounded_copy
from replication.copies.audit.log_rows.completeness import Completeness
from replication.copies.audit.log_rows.corrupt_rows import CorruptRows, ReadMode
from replication.copies.audit.log_rows.index_bounds import index_files
from replication.copies.audit.log_rows.listed_copy import ListedCopy
from replication.copies.audit.log_rows.options.source_options import Rows, SourceOptions
from replication.copies.audit.log_rows.read_ends.kept_end import ensure_kept
from replication.copies.audit.log_rows.read_ends.log_heads import opened_heads
from replication.copies.audit.log_rows.read_ends.offset_density import bytes_of
from replication.copies.audit.log_rows.record_reader import RecordReader, headers_suffice
from replication.copies.audit.log_rows.segment_reader import RowsOf, SegmentReader
from replication.copies.audit.log_rows.selection import Selection
from replication.copies.audit.log_rows.transaction_outcomes import TransactionOutcomes
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.arguments import ensure_few_tasks
from replication.copies.audit.snapshots.path_globs import matching
from replication.copies.audit.snapshots.snapshot import ensure_listed, ensure_partitions_listed, list_snapshots
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import MOST_TASKS, ByteRange, Copy, Job, plan_work, target_bytes
from replication.copies.audit.tables import Columns

RECORD_SHARE: Final = 2
"""To decode records takes so much longer than to read headers that tasks read this part of the bytes."""
FINER: Final = (2, 4)
"""Into how many parts the target goes where tasks are too few: a copy of up to two targets is one task's."""
Task = tuple[ListedCopy, ...]
"""Copies, with what of them is read, that one process reads at a time."""
_CORRUPT: Final = frozenset({"corrupt-batch", "torn-batch", "unreadable-bytes", "zero-tail"})
"""Kinds of findings about what the rows of batches call corrupt."""


def copy_rows(copy: Copy, directory: Path, kind: str, mode: ReadMode, schema: pa.Schema) -> pa.RecordBatch:
    """Read a copy, and give its `segments` or its `epochs` as rows.

    Raises LogStoreError where a file cannot be read, and in mode FAILFAST where a log is damaged.
    """
    partition = PartitionDirectory.open(directory, root=directory.parent)
    found = examine(partition, copy.replica)
    _refuse(found.findings, directory, mode)
    rows: Sequence[SegmentRow | EpochRow] = found.segments if kind == "segments" else found.epochs
    columns = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _refuse(findings: Sequence[ReplicaFinding], directory: Path, mode: ReadMode) -> None:
    """Raise for the first file that could not be read, and in mode FAILFAST for the first place in a log.

    What the system says of a file it says again: an OSError.
    """
    for each in sorted(findings, key=lambda each: (each.finding.file or "", each.finding.position or 0)):
        finding = each.finding
        file = directory / finding.file if finding.file else directory
        if finding.kind in NOT_READ:
            with suppress(FileNotFoundError, IsADirectoryError):
                file.open("rb").close()
            raise LogStoreError(finding.message, file=file, position=finding.position, offset=finding.offset)
        if mode is ReadMode.FAILFAST and finding.kind in _CORRUPT and finding.severity.is_damage:
            raise CorruptBatchError(finding.message, file=file, position=finding.position, offset=finding.offset)


def listed_copies(chosen: SourceOptions) -> list[Copy]:
    """List the copies under the paths. Raises as `list_snapshots` does, and UnreadableLocationError."""
    snapshots = list_snapshots(matching(chosen.paths))
    ensure_listed(snapshots)
    copies = [copy for snapshot in snapshots for copy in snapshot.copies()]
    ensure_partitions_listed(snapshots, filter(chosen.named.wants, copies))
    return copies


def ensure_names_known(chosen: SourceOptions, copies: Sequence[Copy]) -> None:
    """Refuse names that nothing has, one among several too: it may be misspelt. A pattern may match nothing.

    Raises NothingChosenError.
    """
    topics = {copy.topic_partition.topic for copy in copies}
    partitions = {str(copy.topic_partition) for copy in copies}
    replicas = {copy.replica for copy in copies}
    exact = {name for name in chosen.topics if not is_pattern(name)}
    if unknown := sorted((exact | {place.topic for place in chosen.bounded}) - topics):
        raise NothingChosenError(unknown, topics)
    named = {name for name in chosen.partitions if not is_pattern(name)}
    if unknown := sorted({*named, *map(str, chosen.bounded)} - partitions):
        raise NothingChosenError((), topics, partitions=unknown)
    if unknown := sorted({*chosen.replicas} - replicas):
        raise NothingChosenError((), topics, replicas=unknown, copies=replicas)
    if not any(map(chosen.named.wants, copies)):
        asked = sorted(chosen.partitions)
        raise NothingChosenError(chosen.topics, topics, partitions=asked, replicas=chosen.replicas, copies=replicas)


@dataclass(slots=True)
class ChosenLogs:
    """What options choose, of which these columns are read."""

    chosen: SourceOptions
    columns: Columns

    def tasks(self) -> list[Task]:
        """Plan what is read.

        Raises NothingChosenError, NotAllowedError, LogTruncatedError, OSError, and as `list_snapshots` does.
        """
        copies = listed_copies(self.chosen)
        for copy in filter(self.chosen.named.wants, copies):
            self._ensure_kept(copy)
        whole = {(copy.root, copy.directory): copy for copy in copies}
        jobs = [Job(copy.replica, copy.root, copy) for copy in self._selected(copies)]
        return [
            tuple(self._listed(job.ranges, job.copy, whole[job.root, job.copy.directory]) for job in task if job.copy)
            for task in self._divided(jobs)
        ]

    def rows(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Read the logs of one task. Raises OSError, SnapshotChangedError, and CorruptBatchError in mode FAILFAST."""
        for listed in task:
            with self._local_copy(listed) as directory:
                rows_of = self._rows_of_log if self.chosen.rows.are_of_logs else self._rows_of_copy
                yield from rows_of(listed, directory)

    def _local_copy(self, listed: ListedCopy) -> AbstractContextManager[Path]:
        """Enter a copy's directory; of a remote one what is needed is fetched."""
        copy, chosen = listed.copy, self.chosen
        selection = chosen.selection.of(copy)
        # What is missing, and how transactions end, headers of other batches show.
        needs_all = chosen.fails_on_loss or self._others_from(0) == 0
        if not copy.is_local and selection.has_bounds and not needs_all:
            return bounded_copy(listed, selection)
        wanted = {*listed.states, *_index_files(listed), LEADER_EPOCH_CHECKPOINT} if chosen.rows.are_of_logs else None
        return Storage(copy.root).local_copy(copy.directory, files=copy.files, only=wanted)

    def _ensure_kept(self, copy: Copy) -> None:
        """Raise LogTruncatedError where a read is to go on behind what the log no longer has. Raises OSError."""
        for end in self.chosen.ends.get(copy.topic_partition, ()):
            with opened_heads(copy, end.offset) as heads:
                ensure_kept(end, copy.topic_partition, Storage(copy.root).child(copy.directory).shown, heads)

    def _rows_of_copy(self, listed: ListedCopy, directory: Path) -> Iterator[pa.RecordBatch]:
        files = [directory / file for file in listed.states]
        listed.ensure_same(files)
        rows = copy_rows(listed.copy, directory, self.chosen.rows.value, self.chosen.mode, pa.schema(self.columns))
        listed.ensure_same(files)
        yield rows

    def _rows_of_log(self, listed: ListedCopy, directory: Path) -> Iterator[pa.RecordBatch]:
        selection = self.chosen.selection.of(listed.copy)
        rows_of = self._rows_of(listed, directory, selection)
        if self.chosen.fails_on_loss and listed.begun:
            _ensure_complete(listed, directory, selection)
        for part in listed.ranges:
            path = directory / listed.file_of(part)
            corrupt = self._corrupt(listed.copy, part, path)
            reader = SegmentReader(path, part, selection, corrupt, path.name == listed.last_file)
            with listed.opened(path) as log:
                yield from reader.read(log, rows_of)

    def _corrupt(self, copy: Copy, part: ByteRange, path: Path) -> CorruptRows:
        constants = {
            "replica": copy.replica,
            "topic": copy.topic_partition.topic,
            "partition": copy.topic_partition.partition,
            "segment": part.base_offset,
            "file": path.name,
        }
        return CorruptRows(self.chosen.mode, path, Constants(constants), pa.schema(self.columns))

    def _rows_of(self, listed: ListedCopy, directory: Path, selection: Selection) -> RowsOf:
        outcomes = cache(partial(_outcomes, listed, directory, is_committed=self.chosen.is_committed))
        if self.chosen.rows is Rows.BATCHES:
            return BatchReader(selection, outcomes, self.chosen.is_committed).rows
        return RecordReader(selection, outcomes, self.chosen.is_committed, self.chosen.mask).rows

    def _listed(self, ranges: tuple[ByteRange, ...], chosen: Copy, whole: Copy) -> ListedCopy:
        ranges = ranges or tuple(ByteRange(segment.base_offset, 0, segment.size) for segment in chosen.segments)
        read = {part.base_offset for part in ranges}
        others_from = self._others_from(min(read, default=0))
        needed = [each for each in whole.segments if each.base_offset in read or each.base_offset >= others_from]
        return ListedCopy.of(replace(chosen, segments=tuple(needed)), ranges, whole.segments)

    def _others_from(self, base_offset: int) -> float:
        """Return from which segment on others matter too, where those from `base_offset` on are read."""
        if self.chosen.is_committed or not self.chosen.rows.are_of_logs:
            return 0
        return base_offset if "is_aborted" in self.columns else inf

    def _divided(self, jobs: Sequence[Job]) -> list[tuple[Job, ...]]:
        """Divide the work into tasks. Raises NotAllowedError, OSError."""
        chosen = self.chosen
        total = sum(job.copy.bytes for job in jobs if job.copy)
        ensure_few_tasks(chosen.task_bytes, total, "option taskBytes")
        target = chosen.task_bytes or target_bytes(sum(job.cost for job in jobs)) // self._share(jobs)
        if not chosen.rows.are_of_logs:
            return plan_work(jobs, max([target, *(job.cost for job in jobs)]))  # a copy has to be read whole
        if chosen.task_records is not None:
            target = min(target, *(bytes_of(job.copy, chosen.task_records) for job in jobs if job.copy), total or 1)
        if chosen.min_tasks > 1:
            target = min(target, total // chosen.min_tasks)
        target = max(target, -(-total // MOST_TASKS), 1)
        tasks = plan_work(jobs, target)
        for finer in FINER:
            if len(tasks) >= chosen.min_tasks:
                break
            tasks = plan_work(jobs, max(target // finer, 1))
        return tasks

    def _share(self, jobs: Sequence[Job]) -> int:
        """Return which part of the usual bytes a task reads: fewer where it decodes records."""
        decodes = self.chosen.rows is Rows.RECORDS and not all(
            headers_suffice(self.columns, self.chosen.selection.of(job.copy)) for job in jobs if job.copy
        )
        return RECORD_SHARE if decodes else 1

    def _selected(self, copies: Sequence[Copy]) -> Iterator[Copy]:
        """Leave out the copies, and the segments, in which by their names nothing is asked for.

        Raises NothingChosenError where nothing has one of the names; that a condition leaves nothing is an answer.
        """
        if copies:
            ensure_names_known(self.chosen, copies)
        chosen = self.chosen
        wanted = filter(chosen.selection.wants, copies)
        if not chosen.rows.are_of_logs:
            yield from wanted  # an empty log has its segment and its epochs
            return
        for copy in wanted:
            segments = tuple(chosen.selection.of(copy).segments(copy.segments))
            if segments:
                yield replace(copy, segments=segments)


def _index_files(listed: ListedCopy) -> Iterator[str]:
    for part in listed.ranges:
        yield from index_files(listed.file_of(part))


def _ensure_complete(listed: ListedCopy, directory: Path, selection: Selection) -> None:
    """Go over the headers of the segments that are read here from their beginning on. Raises DataLossError."""
    partition = PartitionDirectory.open(directory, root=directory.parent)
    check = Completeness(partition, selection, active=listed.bases[-1])
    begun = listed.begun
    if begun[0] == listed.bases[0] and not _is_deleting(listed.copy):
        check.begin()
    for base_offset, log in listed.logs(directory, among=begun):
        check.take(base_offset, log)
    check.end(next((each for each in listed.bases if each > begun[-1]), None))


def _is_deleting(copy: Copy) -> bool:
    """Whether segments are on their way out, of a remote copy: of a local one its own names show it."""
    if copy.is_local:
        return False
    names = Storage(copy.root).child(copy.directory).files()
    return any(parse_file_name(name).fate is FileFate.DELETED for name in names)


def _outcomes(listed: ListedCopy, directory: Path, *, is_committed: bool) -> TransactionOutcomes:
    return TransactionOutcomes.read(listed.logs(directory), listed.ranges, to_the_end=is_committed)
