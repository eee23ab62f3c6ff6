"""Reads the logs of copies with Spark, by tasks of about equal bytes."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from replication.audit.snapshots.arguments import ensure_few_tasks
from replication.audit.snapshots.snapshot import list_snapshots, segment_extents
from replication.audit.snapshots.storage import Storage
from replication.audit.snapshots.work import ByteRange, Copy, Job, plan_work, target_bytes
from replication.audit.spark.source.batch_rows import batch_rows
from replication.audit.spark.source.conditions.condition import AllOf
from replication.audit.spark.source.conditions.pushed_filters import pushed
from replication.audit.spark.source.copy_rows import copy_rows
from replication.audit.spark.source.corrupt_rows import CorruptRows
from replication.audit.spark.source.file_state import FileState
from replication.audit.spark.source.index_bounds import index_files
from replication.audit.spark.source.options.source_options import Rows, SourceOptions
from replication.audit.spark.source.record_reader import RecordReader
from replication.audit.spark.source.segment_reader import RowsOf, SegmentReader
from replication.audit.spark.source.transaction_outcomes import TransactionOutcomes
from replication.audit.tables import Columns
from replication.errors import NothingChosenError

RECORD_SHARE: Final = 4
"""Records take so much longer than batches that tasks read this part of the bytes."""


@dataclass(frozen=True, slots=True)
class ListedCopy:
    """A copy of which a task reads some segments, or parts of one."""

    copy: Copy
    """With those segments alone in which something is asked for."""
    ranges: tuple[ByteRange, ...]
    last_file: str | None
    """The `.log` file that a broker may still append to; None without any."""
    states: dict[str, FileState]
    """Of its files where it is local."""


class KafkaLogReader(DataSourceReader):
    """Reads what the options ask for."""

    def __init__(self, chosen: SourceOptions, columns: Columns) -> None:
        """Read `columns` of what is chosen."""
        self.chosen = chosen
        self.columns = columns

    def partitions(self) -> list[InputPartition]:
        """Plan the tasks. Raises NothingChosenError, NotAllowedError, and as `list_snapshots` does."""
        copies = [copy for snapshot in list_snapshots(self.chosen.paths) for copy in snapshot.copies()]
        last = {(copy.root, copy.directory): copy.segments[-1].file for copy in copies if copy.segments}
        jobs = [Job(copy.replica, copy.root, copy) for copy in self._selected(copies)]
        tasks = [
            InputPartition(
                tuple(_listed(job, job.copy, last.get((job.copy.root, job.copy.directory))) for job in task if job.copy)
            )
            for task in plan_work(jobs, self._target(jobs))
        ]
        # Where there are no tasks at all, PySpark 4.1 makes one of None.
        return tasks or [InputPartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the logs of one task. Raises OSError, SnapshotChangedError, and CorruptBatchError in mode FAILFAST."""
        for listed in partition.value:
            yield from self._rows_of_log(listed) if self.chosen.rows.are_of_logs else self._rows_of_copy(listed.copy)

    def _rows_of_copy(self, copy: Copy) -> Iterator[pa.RecordBatch]:
        with Storage(copy.root).local_copy(copy.directory) as directory:
            yield copy_rows(copy, directory, self.chosen.rows.value, self.chosen.mode, pa.schema(self.columns))

    def _rows_of_log(self, listed: ListedCopy) -> Iterator[pa.RecordBatch]:
        copy = listed.copy
        files = {segment.base_offset: segment.file for segment in copy.segments}
        wanted = {
            name for part in listed.ranges for name in (files[part.base_offset], *index_files(files[part.base_offset]))
        }
        only = None if self._needs_outcomes else wanted
        with Storage(copy.root).local_copy(copy.directory, only=only) as directory:
            rows_of = self._rows_of(copy, directory)
            for part in listed.ranges:
                path = directory / files[part.base_offset]
                is_last = path.name == listed.last_file
                before = listed.states.get(path.name) or FileState.of(path)
                before.ensure_same(path, may_grow=is_last)
                reader = SegmentReader(
                    path, part, self.chosen.selection.of(copy), self._corrupt(copy, part, path), is_last
                )
                yield from reader.read(rows_of)
                before.ensure_same(path, may_grow=is_last)

    def _corrupt(self, copy: Copy, part: ByteRange, path: Path) -> CorruptRows:
        constants = {
            "replica": copy.replica,
            "topic": copy.topic_partition.topic,
            "partition": copy.topic_partition.partition,
            "segment": part.base_offset,
            "file": path.name,
        }
        return CorruptRows(self.chosen.mode, path, constants, pa.schema(self.columns))

    @property
    def _needs_outcomes(self) -> bool:
        """Whether other segments than those that are read tell how transactions ended."""
        return self.chosen.rows is Rows.RECORDS and (self.chosen.is_committed or "is_aborted" in self.columns)

    def _rows_of(self, copy: Copy, directory: Path) -> RowsOf:
        if self.chosen.rows is Rows.BATCHES:
            return batch_rows
        outcomes = cache(partial(_outcomes, directory))
        return RecordReader(self.chosen.selection.of(copy), outcomes, self.chosen.is_committed).rows

    def _target(self, jobs: Sequence[Job]) -> int:
        """Choose how many bytes a task reads. Raises NotAllowedError."""
        ensure_few_tasks(self.chosen.task_bytes, sum(job.copy.bytes for job in jobs if job.copy), "option taskBytes")
        total = sum(job.cost for job in jobs)
        target = self.chosen.task_bytes or target_bytes(total) // (
            RECORD_SHARE if self.chosen.rows is Rows.RECORDS else 1
        )
        # Of some rows a copy has to be read whole.
        return target if self.chosen.rows.are_of_logs else max([target, *(job.cost for job in jobs)])

    def _selected(self, copies: Sequence[Copy]) -> Iterator[Copy]:
        """Leave out the copies, and the segments, in which by their names nothing is asked for."""
        wanted = [copy for copy in copies if self.chosen.selection.wants(copy)]
        if copies and not wanted and (self.chosen.topics or self.chosen.partitions):
            held = {copy.topic_partition.topic for copy in copies}
            raise NothingChosenError(self.chosen.topics, held, partitions=sorted(self.chosen.partitions))
        if not self.chosen.rows.are_of_logs:
            yield from wanted  # an empty log has its segment and its epochs
            return
        for copy in wanted:
            segments = tuple(self.chosen.selection.of(copy).segments(copy.segments))
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


def _listed(job: Job, copy: Copy, last_file: str | None) -> ListedCopy:
    ranges = job.ranges or tuple(ByteRange(segment.base_offset, 0, segment.size) for segment in copy.segments)
    place = Storage(copy.root).child(copy.directory)
    wanted = {part.base_offset for part in ranges}
    files = [segment.file for segment in copy.segments if segment.base_offset in wanted]
    states = {file: FileState.of(place.path / file) for file in files} if copy.is_local else {}
    return ListedCopy(copy, ranges, last_file, states)


def _outcomes(directory: Path) -> TransactionOutcomes:
    files = {file.name: 0 for file in directory.iterdir()}
    return TransactionOutcomes.read(directory / segment.file for segment in segment_extents(files))
