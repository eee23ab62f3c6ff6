"""Reads the logs of copies with Spark, by tasks of about equal bytes."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from math import inf
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from replication.audit.snapshots.arguments import ensure_few_tasks
from replication.audit.snapshots.snapshot import list_snapshots
from replication.audit.snapshots.storage import Storage
from replication.audit.snapshots.work import ByteRange, Copy, Job, plan_work, target_bytes
from replication.audit.spark.source.arrow_arrays import Constants
from replication.audit.spark.source.batch_rows import batch_rows
from replication.audit.spark.source.brief_errors import OURS, told_briefly
from replication.audit.spark.source.conditions.condition import AllOf
from replication.audit.spark.source.conditions.pushed_filters import pushed
from replication.audit.spark.source.copy_rows import copy_rows
from replication.audit.spark.source.corrupt_rows import CorruptRows
from replication.audit.spark.source.index_bounds import index_files
from replication.audit.spark.source.listed_copy import ListedCopy
from replication.audit.spark.source.options.source_options import Rows, SourceOptions
from replication.audit.spark.source.record_reader import RecordReader, headers_suffice
from replication.audit.spark.source.segment_reader import RowsOf, SegmentReader
from replication.audit.spark.source.selection import Selection
from replication.audit.spark.source.transaction_outcomes import TransactionOutcomes
from replication.audit.spark.worker_modules import keep_modules
from replication.audit.tables import Columns
from replication.errors import NothingChosenError

RECORD_SHARE: Final = 2
"""To decode records takes so much longer than to read headers that tasks read this part of the bytes."""


class KafkaLogReader(DataSourceReader):
    """Reads what the options ask for."""

    def __init__(self, chosen: SourceOptions, columns: Columns) -> None:
        """Read `columns` of what is chosen."""
        self.chosen = chosen
        self.columns = columns

    @told_briefly
    def partitions(self) -> list[InputPartition]:
        """Plan the tasks. Raises NothingChosenError, NotAllowedError, and as `list_snapshots` does."""
        copies = [copy for snapshot in list_snapshots(self.chosen.paths) for copy in snapshot.copies()]
        whole = {(copy.root, copy.directory): copy for copy in copies}
        jobs = [Job(copy.replica, copy.root, copy) for copy in self._selected(copies)]
        tasks = [
            InputPartition(
                tuple(
                    self._listed(job.ranges, job.copy, whole[job.root, job.copy.directory]) for job in task if job.copy
                )
            )
            for task in plan_work(jobs, self._target(jobs))
        ]
        keep_modules()
        # Where there are no tasks at all, PySpark 4.1 makes one of None.
        return tasks or [InputPartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the logs of one task. Raises OSError, SnapshotChangedError, and CorruptBatchError in mode FAILFAST."""
        try:
            yield from self._read(partition.value)
            keep_modules()
        except OURS as error:
            raise error.with_traceback(None) from None

    def _read(self, task: Sequence[ListedCopy]) -> Iterator[pa.RecordBatch]:
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

        Raises NothingChosenError where the names leave nothing; that a condition does is an answer.
        """
        chosen = self.chosen
        topics = {copy.topic_partition.topic for copy in copies}
        if copies and not any(map(chosen.named.wants, copies)):
            raise NothingChosenError(
                chosen.topics,
                topics,
                partitions=sorted(chosen.partitions),
                replicas=chosen.replicas,
                copies={copy.replica for copy in copies},
            )
        if copies and (missing := {place.topic for place in chosen.bounded} - topics):
            raise NothingChosenError(sorted(missing), topics)
        wanted = filter(chosen.selection.wants, copies)
        if not chosen.rows.are_of_logs:
            yield from wanted  # an empty log has its segment and its epochs
            return
        for copy in wanted:
            segments = tuple(chosen.selection.of(copy).segments(copy.segments))
            if segments:
                yield replace(copy, segments=segments)


class PushingReader(KafkaLogReader):
    """Reads what the options and the filters of a query ask for."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802  Spark's name
        """Leave out what the filters do, as far as that spares reading; Spark applies all of them again."""
        taken = list(pushed(filters))
        self.chosen = self.chosen.where(AllOf(tuple(condition for _, condition in taken)))
        names = ", ".join(str(each) for each, _ in taken)
        print(f"kafka-log: filters that spare reading: {names or 'none'}", file=sys.stderr)  # noqa: T201  Spark's log
        return iter(filters)


def _index_files(listed: ListedCopy) -> Iterator[str]:
    for part in listed.ranges:
        yield from index_files(listed.file_of(part))


def _outcomes(listed: ListedCopy, directory: Path, *, is_committed: bool) -> TransactionOutcomes:
    return TransactionOutcomes.read(listed.logs(directory), listed.ranges, to_the_end=is_committed)
