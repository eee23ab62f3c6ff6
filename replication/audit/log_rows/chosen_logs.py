"""The rows of copies that options choose, by tasks of about equal bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import inf
from pathlib import Path
from typing import Final

import pyarrow as pa

from replication.audit.log_rows.arrow_arrays import Constants
from replication.audit.log_rows.batch_rows import batch_rows
from replication.audit.log_rows.copy_rows import copy_rows
from replication.audit.log_rows.corrupt_rows import CorruptRows
from replication.audit.log_rows.index_bounds import index_files
from replication.audit.log_rows.listed_copy import ListedCopy
from replication.audit.log_rows.options.source_options import Rows, SourceOptions
from replication.audit.log_rows.record_reader import RecordReader, headers_suffice
from replication.audit.log_rows.segment_reader import RowsOf, SegmentReader
from replication.audit.log_rows.selection import Selection
from replication.audit.log_rows.transaction_outcomes import TransactionOutcomes
from replication.audit.snapshots.arguments import ensure_few_tasks
from replication.audit.snapshots.snapshot import ensure_listed, list_snapshots
from replication.audit.snapshots.storage import Storage
from replication.audit.snapshots.work import ByteRange, Copy, Job, plan_work, target_bytes
from replication.audit.tables import Columns
from replication.errors import NothingChosenError

RECORD_SHARE: Final = 2
"""To decode records takes so much longer than to read headers that tasks read this part of the bytes."""


WILDCARDS: Final = frozenset("*?[")
"""Of patterns, which may match nothing."""
Task = tuple[ListedCopy, ...]
"""Copies, with what of them is read, that one process reads at a time."""


@dataclass(slots=True)
class ChosenLogs:
    """What options choose, of which these columns are read."""

    chosen: SourceOptions
    columns: Columns

    def tasks(self) -> list[Task]:
        """Plan what is read. Raises NothingChosenError, NotAllowedError, and as `list_snapshots` does."""
        snapshots = list_snapshots(self.chosen.paths)
        ensure_listed(snapshots)
        copies = [copy for snapshot in snapshots for copy in snapshot.copies()]
        whole = {(copy.root, copy.directory): copy for copy in copies}
        jobs = [Job(copy.replica, copy.root, copy) for copy in self._selected(copies)]
        return [
            tuple(self._listed(job.ranges, job.copy, whole[job.root, job.copy.directory]) for job in task if job.copy)
            for task in plan_work(jobs, self._target(jobs))
        ]

    def rows(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Read the logs of one task. Raises OSError, SnapshotChangedError, and CorruptBatchError in mode FAILFAST."""
        for listed in task:
            copy = listed.copy
            # Of remote copies the files that are needed are fetched.
            wanted = None if not self.chosen.rows.are_of_logs else {*listed.states, *_index_files(listed)}
            with Storage(copy.root).local_copy(copy.directory, only=wanted) as directory:
                rows_of = self._rows_of_log if self.chosen.rows.are_of_logs else self._rows_of_copy
                yield from rows_of(listed, directory)

    def _rows_of_copy(self, listed: ListedCopy, directory: Path) -> Iterator[pa.RecordBatch]:
        files = [directory / file for file in listed.states]
        listed.ensure_same(files)
        rows = copy_rows(listed.copy, directory, self.chosen.rows.value, self.chosen.mode, pa.schema(self.columns))
        listed.ensure_same(files)
        yield rows

    def _rows_of_log(self, listed: ListedCopy, directory: Path) -> Iterator[pa.RecordBatch]:
        selection = self.chosen.selection.of(listed.copy)
        rows_of = self._rows_of(listed, directory, selection)
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
        if self.chosen.rows is Rows.BATCHES:
            return batch_rows
        outcomes = cache(partial(_outcomes, listed, directory, is_committed=self.chosen.is_committed))
        return RecordReader(selection, outcomes, self.chosen.is_committed).rows

    def _listed(self, ranges: tuple[ByteRange, ...], chosen: Copy, whole: Copy) -> ListedCopy:
        ranges = ranges or tuple(ByteRange(segment.base_offset, 0, segment.size) for segment in chosen.segments)
        read = {part.base_offset for part in ranges}
        others_from = self._others_from(min(read, default=0))
        needed = [each for each in whole.segments if each.base_offset in read or each.base_offset >= others_from]
        return ListedCopy.of(
            replace(chosen, segments=tuple(needed)), ranges, whole.segments[-1] if whole.segments else None
        )

    def _others_from(self, base_offset: int) -> float:
        """Return from which segment on others matter too, where those from `base_offset` on are read."""
        if self.chosen.is_committed or not self.chosen.rows.are_of_logs:
            return 0
        return base_offset if "is_aborted" in self.columns else inf

    def _target(self, jobs: Sequence[Job]) -> int:
        """Choose how many bytes a task reads. Raises NotAllowedError."""
        ensure_few_tasks(self.chosen.task_bytes, sum(job.copy.bytes for job in jobs if job.copy), "option taskBytes")
        target = self.chosen.task_bytes or target_bytes(sum(job.cost for job in jobs)) // self._share(jobs)
        # Of some rows a copy has to be read whole.
        return target if self.chosen.rows.are_of_logs else max([target, *(job.cost for job in jobs)])

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
            self._ensure_names_known(copies)
        chosen = self.chosen
        wanted = filter(chosen.selection.wants, copies)
        if not chosen.rows.are_of_logs:
            yield from wanted  # an empty log has its segment and its epochs
            return
        for copy in wanted:
            segments = tuple(chosen.selection.of(copy).segments(copy.segments))
            if segments:
                yield replace(copy, segments=segments)

    def _ensure_names_known(self, copies: Sequence[Copy]) -> None:
        """Refuse names that nothing has, one among several too: it may be misspelt. A pattern may match nothing."""
        chosen = self.chosen
        topics = {copy.topic_partition.topic for copy in copies}
        partitions = {str(copy.topic_partition) for copy in copies}
        replicas = {copy.replica for copy in copies}
        exact = {name for name in chosen.topics if not WILDCARDS & {*name}}
        if unknown := sorted((exact | {place.topic for place in chosen.bounded}) - topics):
            raise NothingChosenError(unknown, topics)
        if unknown := sorted({*chosen.partitions, *map(str, chosen.bounded)} - partitions):
            raise NothingChosenError((), topics, partitions=unknown)
        if unknown := sorted({*chosen.replicas} - replicas):
            raise NothingChosenError((), topics, replicas=unknown, copies=replicas)
        if not any(map(chosen.named.wants, copies)):
            asked = sorted(chosen.partitions)
            raise NothingChosenError(chosen.topics, topics, partitions=asked, replicas=chosen.replicas, copies=replicas)


def _index_files(listed: ListedCopy) -> Iterator[str]:
    for part in listed.ranges:
        yield from index_files(listed.file_of(part))


def _outcomes(listed: ListedCopy, directory: Path, *, is_committed: bool) -> TransactionOutcomes:
    return TransactionOutcomes.read(listed.logs(directory), listed.ranges, to_the_end=is_committed)
