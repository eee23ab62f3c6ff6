"""Lets Spark judge partitions, and finish copies that were read in parts."""

from collections.abc import Callable

import pyarrow as pa

from replication.audit.examination.copy_examiner import Row
from replication.audit.pipeline.audit_plan import NewExaminer
from replication.audit.pipeline.partition_rows import Missing, finish_rows, judge_rows
from replication.audit.snapshots.registered import Registrations
from replication.audit.tables import EXAMINED, JUDGED, Columns

Group = Callable[[pa.Table], pa.Table]
"""What Spark applies to the rows of one group."""


def judging(missing: Missing, registered: Registrations) -> Group:
    """Return what turns the rows of one partition's copies into its verdict."""

    def judge_table(table: pa.Table) -> pa.Table:
        return _table_of(judge_rows(table.to_pylist(), missing, registered), JUDGED)

    return judge_table


def finishing(new_examiner: NewExaminer) -> Group:
    """Return what turns the rows of one copy's parts into the copy's row."""

    def finish_table(table: pa.Table) -> pa.Table:
        return _table_of(finish_rows(table.to_pylist(), new_examiner()), EXAMINED)

    return finish_table


def _table_of(row: Row, columns: Columns) -> pa.Table:
    return pa.Table.from_pylist([row], schema=pa.schema(columns))
