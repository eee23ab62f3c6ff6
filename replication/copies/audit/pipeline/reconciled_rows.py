"""Rows of logs that are held against the runs of a table's rows, of many partitions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from logstore.topic_partition import TopicPartition
from replication.copies.audit.pipeline.explained_rows import partition_parts, row_of_unusable
from replication.copies.audit.tables import RECONCILED
from replication.copies.explain.explanation import Explanation
from replication.copies.explain.sources import Sources
from replication.copies.planning.failures import PARTITION_ERRORS
from replication.copies.reconcile.reconciled_ranges import LogRanges, Reconciled, findings, reconciled
from replication.copies.reconcile.row_counter import UNUSABLE
from replication.copies.reconcile.row_runs import RowRuns, summed
from replication.copies.reconcile.status import CODES, STATUSES, Status
from replication.copies.reconcile.time_windows import NO_WINDOW, batch_times, by_window

ROWS_AT_ONCE: Final = 10_000
_SCHEMA: Final = pa.schema(RECONCILED)
_EXPECTED: Final = CODES[Status.DELIVERED]
_ABORTED: Final = CODES[Status.ABORTED]


class Said(NamedTuple):
    """What speaks for a row."""

    evidence: str
    copy: str | None = None
    file: str | None = None
    position: int | None = None


_NOTHING: Final = Said("")


@dataclass(frozen=True)
class ReconciledRows:
    """How logs are read; copies are opened once, where that is done."""

    copies: Sequence[str]
    leader: str | None = None
    compacted: frozenset[str] = frozenset()
    """Topics that are known to be compacted."""
    committed_only: bool = True
    has_remote: bool | None = None
    window: int | None = None
    """Milliseconds; None where windows are not asked for."""

    @cached_property
    def sources(self) -> Sources:
        """The copies, opened; a partition that cannot be is reported when it is asked for."""
        return Sources.open([Path(each) for each in self.copies])

    def batches(self, tables: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Hold the log of each partition against the runs of its rows, as `row_counter.RUNS`, by topic and partition.

        A run with no copies stands for a partition whose log is to be looked at, whether the table has rows of it or
        not.
        """
        for partition, parts in groupby(partition_parts(tables), key=lambda part: part[0]):
            runs, unusable = _runs([rows for _, rows in parts])
            if partition is not None:
                yield from self._partition(partition, runs)
            if unusable:
                yield _errors([row_of_unusable(partition, unusable)])

    def _partition(self, partition: TopicPartition, runs: RowRuns) -> Iterator[pa.RecordBatch]:
        errors: list[str] = []
        try:
            explanation = self.sources.explain(
                partition,
                least_end=runs.end,
                leader=self.leader,
                is_compacted=partition.topic in self.compacted,
                committed_only=self.committed_only,
                has_remote=self.has_remote,
                on_error=lambda _partition, error: errors.append(str(error)),
            )
            yield from self._reconciled(explanation, runs)
        except PARTITION_ERRORS as error:
            errors.append(str(error))
            yield from _unread(partition, runs)
        if errors:
            yield _errors([{**partition._asdict(), "error": error} for error in errors])

    def _reconciled(self, explanation: Explanation, runs: RowRuns) -> Iterator[pa.RecordBatch]:
        end = explanation.log_end_offset
        log = LogRanges(explanation.table, explanation.cut_off_table, explanation.led, end)
        rows = reconciled(log, runs)
        windows = np.full(len(rows), NO_WINDOW)
        if self.window is not None:
            times = batch_times(self.sources.copies_of(explanation.topic_partition)[explanation.copy])
            rows, windows = by_window(rows, times, end, self.window)
        witness = _Witness(explanation)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            yield _batch(explanation.topic_partition, explanation.copy, rows[some], windows[some], witness)


@dataclass(slots=True)
class _Witness:
    """What speaks for rows, put into words; nothing for what was delivered, as that is most of all."""

    explanation: Explanation

    def of(self, row: np.void) -> Said:
        if row["status"] == _EXPECTED:
            return _NOTHING
        number = int(row["known"])
        if number < 0:
            return Said(self._of_foreign(row))
        known = self.explanation.table[number]
        found = self.explanation.evidence.of(known)
        # Where a batch within a longer range stands is not known; the marker that aborts all of it is.
        is_place = row["first"] == known["first"] or row["status"] == _ABORTED
        place = (found.file, found.position) if is_place else (None, None)
        return Said(found.evidence, found.copy, *place)

    def _of_foreign(self, row: np.void) -> str:
        epoch, cut_by = int(row["epoch"]), int(row["cut_by"])
        if cut_by >= 0:
            return f"written under leader epoch {epoch}; the leader of epoch {cut_by} did not have it"
        latest = self.explanation.led.latest_epoch
        if latest is not None and epoch > latest:
            return f"its leader epoch is {epoch}; the latest that the copies know is {latest}: they may be older"
        return f"its leader epoch is {epoch}, under which the log has no such offset"


def _batch(
    partition: TopicPartition, copy: str, rows: Reconciled, windows: NDArray[np.int64], witness: _Witness
) -> pa.RecordBatch:
    size = len(rows)
    said = [witness.of(row) for row in rows]
    columns: dict[str, Any] = {
        "topic": [partition.topic] * size,
        "partition": [partition.partition] * size,
        "explained": [copy] * size,
        "window": pa.array(np.where(windows == NO_WINDOW, 0, windows * 1000), mask=windows == NO_WINDOW),
        "first_offset": rows["first"],
        "last_offset": rows["last"],
        "status": np.array([each.value for each in STATUSES], object)[rows["status"]],
        "copies": rows["copies"],
        "is_finding": findings(rows),
        "is_doubtful": rows["is_doubtful"],
        "leader_epoch": rows["epoch"],
        "cut_by_epoch": rows["cut_by"],
        **{name: [getattr(each, name) for each in said] for name in Said._fields},
        "error": [None] * size,
    }
    return pa.RecordBatch.from_arrays(
        [_array(columns[name], kind) for name, kind in RECONCILED.items()], schema=_SCHEMA
    )


def _array(column: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(column, pa.Array):
        return column.cast(kind)
    return pa.array(np.ascontiguousarray(column) if isinstance(column, np.ndarray) else column, kind)


def _unread(partition: TopicPartition, runs: RowRuns) -> Iterator[pa.RecordBatch]:
    """Return the rows of a partition whose log cannot be read."""
    first, last, copies = summed([], runs.first, runs.last, runs.copies)
    known = {**partition._asdict(), "status": Status.UNREAD.value, "is_doubtful": False, "evidence": "no copy was read"}
    names = "first_offset", "last_offset", "copies"
    for start in range(0, len(first), ROWS_AT_ONCE):
        some = (column[start : start + ROWS_AT_ONCE].tolist() for column in (first, last, copies))
        rows = [{**known, **dict(zip(names, row, strict=True))} for row in zip(*some, strict=True)]
        yield pa.RecordBatch.from_pylist([{**row, "is_finding": row["copies"] > 1} for row in rows], schema=_SCHEMA)


def _errors(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)


def _runs(parts: Sequence[pa.RecordBatch]) -> tuple[RowRuns, int]:
    """Put the runs of one partition together, and count its rows without an offset."""
    names = "leader_epoch", "first_offset", "last_offset", "copies"
    columns = [np.concatenate([part.column(name).to_numpy().astype(np.int64) for part in parts]) for name in names]
    _, first, _, copies = columns
    epoch, *others = (column[(first >= 0) & (copies > 0)] for column in columns)
    return RowRuns(*summed([epoch], *others)), int(copies[first == UNUSABLE].sum())
