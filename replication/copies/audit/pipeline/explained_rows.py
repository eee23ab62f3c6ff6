"""Rows of what became of offsets, of many partitions, beside the offsets that somebody has."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from logstore.topic_partition import TopicPartition
from replication.base.counted import counted
from replication.copies.audit.tables import EXPLAINED
from replication.copies.explain.explanation import Explanation, OffsetRuns, runs_of_offsets
from replication.copies.explain.sources import Sources
from replication.copies.planning.failures import PARTITION_ERRORS

MARK: Final = -1
"""Stands for a partition that is to be explained, be any of its offsets there or not."""
NO_PARTITION: Final = -1
"""Stands for a null where NumPy needs a number."""
ROWS_AT_ONCE: Final = 10_000
Row = dict[str, Any]


@dataclass(frozen=True)
class ExplainedRows:
    """How partitions are explained; copies are opened once, where that is done."""

    copies: Sequence[str]
    leader: str | None = None
    compacted: frozenset[str] = frozenset()
    """Topics that are known to be compacted."""
    committed_only: bool = True

    @cached_property
    def sources(self) -> Sources:
        """The copies, opened; a partition that cannot be is reported when it is asked for."""
        return Sources.open([Path(each) for each in self.copies])

    def batches(self, tables: Iterable[pa.RecordBatch], *, has_offsets: bool) -> Iterator[pa.RecordBatch]:
        """Explain the partitions of rows of topic, partition and offset, which are in this order.

        Where the rows `has_offsets`, what is explained is what is not among these. Rows without an offset, and those
        without a partition, which have no topic either, are counted by a row with `error`.
        """
        waiting: list[Row] = []
        for partition, offsets, unusable in _by_partition(tables):
            if partition is not None:
                waiting += self._rows(partition, offsets if has_offsets else None)
            if unusable:
                waiting.append(row_of_unusable(partition, unusable))
            if len(waiting) >= ROWS_AT_ONCE:
                yield pa.RecordBatch.from_pylist(waiting, schema=pa.schema(EXPLAINED))
                waiting = []
        if waiting:
            yield pa.RecordBatch.from_pylist(waiting, schema=pa.schema(EXPLAINED))

    def _rows(self, partition: TopicPartition, offsets: OffsetRuns | None) -> Iterator[Row]:
        errors: list[str] = []
        least_end = int(offsets.last[-1]) + 1 if offsets and len(offsets.last) else 0
        try:
            explanation = self.sources.explain(
                partition,
                least_end=least_end,
                leader=self.leader,
                is_compacted=partition.topic in self.compacted,
                committed_only=self.committed_only,
                on_error=lambda _partition, error: errors.append(str(error)),
            )
        except PARTITION_ERRORS as error:
            errors.append(str(error))
        else:
            yield from _told(explanation if offsets is None else explanation.without(offsets), is_unexpected=False)
            if offsets is not None:
                yield from _told(explanation.unexpected(offsets), is_unexpected=True)
        yield from ({**partition._asdict(), "error": error} for error in errors)


def _told(explanation: Explanation, *, is_unexpected: bool) -> Iterator[Row]:
    known = {**explanation.topic_partition._asdict(), "explained": explanation.copy, "is_unexpected": is_unexpected}
    for each in explanation.ranges:
        yield {**known, **each._asdict(), "why": each.why.value}


def row_of_unusable(partition: TopicPartition | None, rows: int) -> Row:
    """Return a row about offsets that were left out; `partition` is None for rows that lack it or their topic."""
    if partition is None:
        return {
            "error": f"offsets without a topic or a partition were left out: {counted(rows, 'row')}; give both in each"
        }
    return {**partition._asdict(), "error": f"offsets that are null or below 0 were left out: {counted(rows, 'row')}"}


@dataclass(slots=True)
class _Runs:
    """The offsets of one partition so far."""

    parts: list[OffsetRuns] = field(default_factory=list)
    unusable: int = 0
    """How many rows have no offset."""

    def add(self, offsets: pa.Array) -> None:
        self.unusable += offsets.null_count
        known = offsets.fill_null(MARK).to_numpy()
        self.parts.append(runs_of_offsets(known[known >= 0]))

    def all(self) -> OffsetRuns:
        """Put runs together that follow each other across batches."""
        first = np.concatenate([each.first for each in self.parts])
        last = np.concatenate([each.last for each in self.parts])
        if not len(first):
            return OffsetRuns(first, last)
        begins = np.append(True, first[1:] > last[:-1] + 1)
        starts = np.flatnonzero(begins)
        return OffsetRuns(first[starts], np.maximum.reduceat(last, starts))


def _by_partition(tables: Iterable[pa.RecordBatch]) -> Iterator[tuple[TopicPartition | None, OffsetRuns, int]]:
    """Collect the offsets of each partition, and count its rows without one."""
    for partition, parts in groupby(partition_parts(tables), key=lambda part: part[0]):
        runs = _Runs()
        for _, rows in parts:
            runs.add(rows.column("offset"))
        yield partition, runs.all(), runs.unusable


def partition_parts(tables: Iterable[pa.RecordBatch]) -> Iterator[tuple[TopicPartition | None, pa.RecordBatch]]:
    """Cut rows, which are in the order of topic and partition, where another partition begins; None without a topic."""
    for table in tables:
        if not table.num_rows:
            continue
        topics = pc.run_end_encode(table.column("topic"))
        partitions = table.column("partition").fill_null(NO_PARTITION).to_numpy()
        ends = np.union1d(topics.run_ends.to_numpy(), np.flatnonzero(np.diff(partitions)) + 1)
        starts = np.append(0, ends)
        for start, end in zip(starts.tolist(), [*ends.tolist(), table.num_rows], strict=True):
            if start < end:
                topic, partition = table.column("topic")[start].as_py(), int(partitions[start])
                known = None if topic is None else TopicPartition(topic, partition)
                yield known, table.slice(start, end - start)
