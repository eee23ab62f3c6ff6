"""What an audit on one machine gives: its tables as Arrow has them."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from replication.base.errors import LiveAuditError
from replication.copies.audit.examination.copy_examiner import Row
from replication.copies.audit.log_rows.options.source_options import SourceOptions
from replication.copies.audit.pipeline.audit_outcome import AuditOutcome
from replication.copies.audit.pipeline.audit_plan import AuditPlan
from replication.copies.audit.pipeline.difference_rows import difference_rows, disagreement_rows
from replication.copies.audit.pipeline.document import BytesRead, describe
from replication.copies.audit.pipeline.internal_topics import Stranded
from replication.copies.audit.pipeline.live_reading import LiveReading
from replication.copies.audit.snapshots.remote.traffic import Traffic
from replication.copies.audit.snapshots.snapshot import named_absolutely
from replication.copies.audit.tables import (
    AUDITED_SEGMENTS,
    BATCHES,
    DIFFERENCES,
    EPOCHS,
    FINDINGS,
    PARTITIONS,
    RUN,
    Columns,
)


@dataclass(frozen=True, repr=False)
class LocalAudit(AuditOutcome):
    """The results of an audit, as Arrow's tables: the same columns and rows as an audit with Spark gives.

    Each table ends with `run_id`, another one for each audit, and `run_at`, when its planning began.
    """

    plan: AuditPlan
    examined: Sequence[Row]
    """One row a copy or a root, as `tables.EXAMINED` has it."""
    judged: Sequence[Row]
    """One row a partition, as `tables.JUDGED` has it."""
    stranded: Stranded
    live: LiveReading | None = None
    """How often what was read, where brokers wrote to the copies; None of snapshots."""
    fetched: Traffic | None = None
    """From object stores, until everything was judged; None where that is not counted."""

    @cached_property
    def partitions(self) -> pa.Table:
        """One row a partition: its verdict."""
        return self._table(self.judged, PARTITIONS)

    @cached_property
    def pairs(self) -> pa.Table:
        """One row for each copy as the leader of each other one: what the follower would truncate."""
        return self._in_partitions("pairs")

    @cached_property
    def forks(self) -> pa.Table:
        """One row for each two copies that have forked: where they part."""
        return self._in_partitions("forks")

    @cached_property
    def branches(self) -> pa.Table:
        """One row a copy: where its log begins and ends, and who led when."""
        return self._in_partitions("branches")

    @cached_property
    def segments(self) -> pa.Table:
        """One row a segment of each copy."""
        return self._table(_in_rows(self.examined, "segments"), AUDITED_SEGMENTS)

    @cached_property
    def epochs(self) -> pa.Table:
        """One row a leader epoch of each copy, those without a batch too."""
        return self._table(_in_rows(self.examined, "epochs"), EPOCHS)

    @cached_property
    def findings(self) -> pa.Table:
        """`verify`'s of each copy, and what only comparing copies shows."""
        return self._table(self._findings(), FINDINGS)

    @property
    def all_findings(self) -> pa.Table:
        """The findings of the document: those about consumer groups too."""
        return self._table(self.document["findings"], FINDINGS)

    @cached_property
    def differences(self) -> pa.Table:
        """One row for each record that one of two copies lacks, or has otherwise; read again.

        What only lags, and what retention or the cleaner has removed, is no difference.
        """
        return self._table(self.difference_rows(), DIFFERENCES)

    @property
    def batches(self) -> pa.Table:
        """One row a batch; read again each time."""
        return pa.Table.from_batches(self.batch_rows(), schema=pa.schema({**BATCHES, **RUN}))

    def batch_rows(self) -> Iterator[pa.RecordBatch]:
        """Give the rows of `batches` some at a time, for those that would not fit into memory.

        Raises SnapshotChangedError, LiveAuditError, and as `list_snapshots` does.
        """
        from replication.copies.audit.log_rows.chosen_logs import ChosenLogs  # noqa: PLC0415  it loads numba, start-up time

        self._ensure_of_snapshots("batches")
        self.plan.ensure_unchanged()
        paths = json.dumps([named_absolutely(each) for each in self.plan.named])
        options = SourceOptions.of({"paths": paths, **self.plan.batch_options})
        logs = ChosenLogs(options, options.columns)
        for task in logs.tasks():
            yield from map(self._of_run, logs.rows(task))

    def difference_rows(self) -> Iterator[Row]:
        """See `AuditOutcome`. Raises LiveAuditError."""
        self._ensure_of_snapshots("differences")
        copies = [row for row in self.examined if row.get("summary") is not None]
        for rows in by_partition(copies).values():
            for where in disagreement_rows(rows):
                yield from ({**row, **self._run} for row in difference_rows(where, self.plan.options.mask))

    def close(self) -> None:
        """Nothing is kept but the tables."""

    def _findings(self) -> Iterator[Row]:
        yield from _in_rows(self.examined, "findings")
        yield from _in_rows(self.judged, "findings")
        yield from (finding.as_json() for finding in self.plan.findings)

    def _describe(self) -> dict[str, Any]:
        """See `AuditOutcome`."""
        partitions = [{name: row[name] for name in PARTITIONS} for row in self.judged]
        return describe(
            self.plan, partitions, list(self._findings()), self.stranded, self._bytes_read(), self.live, self.fetched
        )

    def _ensure_of_snapshots(self, table: str) -> None:
        """Raise LiveAuditError for what reads the copies again, where brokers have written to them since."""
        if self.live is not None:
            raise LiveAuditError(table)

    def _bytes_read(self) -> BytesRead:
        if self.plan.history is None:
            return BytesRead.all_of(self.plan)
        oldest = [row["oldest_read"] for row in self.examined if row.get("oldest_read") is not None]
        return BytesRead(sum(row.get("bytes_read") or 0 for row in self.examined), min(oldest, default=None))

    def _in_partitions(self, column: str) -> pa.Table:
        kind = PARTITIONS[column].value_type
        columns = {"topic": PARTITIONS["topic"], "partition": PARTITIONS["partition"]}
        rows = (
            {"topic": row["topic"], "partition": row["partition"], **each}
            for row in self.judged
            for each in row[column] or ()
        )
        return self._table(rows, {**columns, **{field.name: field.type for field in kind}})

    @property
    def _run(self) -> Row:
        """What names this audit in each row."""
        return {"run_id": self.run_id, "run_at": self.plan.begun_microseconds}

    def _of_run(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Add the columns that name this audit."""
        named = [pa.repeat(pa.scalar(self._run[name], kind), len(rows)) for name, kind in RUN.items()]
        return pa.RecordBatch.from_arrays([*rows.columns, *named], schema=pa.schema({**BATCHES, **RUN}))

    def _table(self, rows: Iterable[Row], columns: Columns) -> pa.Table:
        """Make a table, with the columns that name this audit."""
        return pa.Table.from_pylist([{**row, **self._run} for row in rows], schema=pa.schema({**columns, **RUN}))


def by_partition(rows: Iterable[Row]) -> dict[tuple[str, int], list[Row]]:
    """Bring together the rows of each partition's copies."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if row.get("topic") is not None:
            groups.setdefault((row["topic"], row["partition"]), []).append(row)
    return groups


def _in_rows(rows: Iterable[Row], column: str) -> Iterator[Row]:
    for row in rows:
        yield from row.get(column) or ()
