"""A Spark job that judges partitions, and finishes copies that were read in parts."""

from collections.abc import Callable

import pyarrow as pa

from replication.copies.audit.coordinators.commits import with_read_positions
from replication.copies.audit.examination.copy_examiner import Row
from replication.copies.audit.examination.kept.known_verdicts import KnownVerdicts
from replication.copies.audit.pipeline.audit_plan import NewExaminer
from replication.copies.audit.pipeline.committed_rows import read_by_groups
from replication.copies.audit.pipeline.partition_rows import Missing, finish_rows, judge_rows
from replication.copies.audit.snapshots.registered import Registrations
from replication.copies.audit.tables import EXAMINED, JUDGED, Columns

Group = Callable[[pa.Table], pa.Table]
"""What Spark applies to the rows of one group."""


def judging(missing: Missing, registered: Registrations, known: KnownVerdicts | None = None) -> Group:
    """Return what turns the rows of one partition's copies, and of what groups have committed, into its verdict."""

    def judge_table(table: pa.Table) -> pa.Table:
        rows = table.to_pylist()
        copies = [row for row in rows if row["group"] is None]
        if not copies:
            return pa.schema(JUDGED).empty_table()
        read = read_by_groups(row for row in rows if row["group"] is not None)
        return _table_of(judge_rows(copies, missing, with_read_positions(registered, read), known), JUDGED)

    return judge_table


def finishing(new_examiner: NewExaminer) -> Group:
    """Return what turns the rows of one copy's parts into the copy's row."""

    def finish_table(table: pa.Table) -> pa.Table:
        return _table_of(finish_rows(table.to_pylist(), new_examiner()), EXAMINED)

    return finish_table


def _table_of(row: Row, columns: Columns) -> pa.Table:
    return pa.Table.from_pylist([row], schema=pa.schema(columns))
