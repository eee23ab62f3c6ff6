"""Logs held against a table that was filled from them, with Spark."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from replication.base.chosen_topics import is_chosen
from replication.base.errors import NotAllowedError, NothingChosenError
from replication.copies.audit.pipeline.reconciled_rows import ReconciledRows
from replication.copies.audit.spark.offsets_table import open_table
from replication.copies.audit.spark.sessions.session import send_packages
from replication.copies.audit.spark.sink_rows import sink_rows
from replication.copies.audit.spark.spark_schema import spark_schema
from replication.copies.audit.spark.worker_modules import keep_modules
from replication.copies.audit.tables import RECONCILED
from replication.copies.explain.sources import Sources
from replication.copies.reconcile.row_counter import RUNS, count_rows, merged

_RUNS: Final = spark_schema({field.name: field.type for field in RUNS})
_MARK: Final = -1, 0, -1, -1, 0
"""The rest of a run that only names a partition: it has no copies."""
_OFFSETS: Final = "last_offset - first_offset + 1"
_SUMS: Final = {
    "ranges": "1",
    "offsets": _OFFSETS,
    "rows": f"({_OFFSETS}) * copies",
    "duplicates": f"({_OFFSETS}) * greatest(copies - 1, 0)",
    "doubtful": f"if(is_doubtful, {_OFFSETS}, 0)",
}
"""What is counted of ranges, each as one's share."""


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """Logs and a table, held against each other. Each action on one of these reads both, unless `ranges` is cached."""

    ranges: DataFrame
    """A row for each range of offsets, or rows of the table, that are alike; one with `error` for what was not read."""

    @property
    def counts(self) -> DataFrame:
        """How many offsets, rows and surplus rows there are, by partition, window of time and status."""
        found = self.ranges.where("status is not null").withColumn("in_table", f.col("copies") > 0)
        alike = found.groupBy("topic", "partition", "explained", "window", "status", "in_table", "is_finding")
        return alike.agg(*(f.sum(f.expr(share)).alias(name) for name, share in _SUMS.items()))

    def write(self, directory: Path) -> None:
        """Write both tables into a directory, as Parquet."""
        for name, table in (("ranges", self.ranges), ("counts", self.counts)):
            table.write.parquet(str(directory.absolute() / name))

    def as_json(self, most: int) -> dict[str, list[dict[str, Any]]]:
        """Return counts, the first findings and all errors as `epochlog reconcile --json` prints them."""
        findings = self.ranges.where("is_finding").orderBy("topic", "partition", "first_offset", "leader_epoch")
        errors = self.ranges.where("error is not null").orderBy("topic", "partition")
        return {
            "counts": _rows(self.counts.orderBy("topic", "partition", "window", "status", "in_table")),
            "findings": _rows(findings.limit(most).drop("is_finding", "error")),
            "errors": _rows(errors.select("topic", "partition", "error")),
        }


def reconcile(
    spark: SparkSession,
    log: str | Path | Sequence[str | Path],
    table: DataFrame | str | Path,
    *,
    topics: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    window: timedelta | None = None,
    leader: str | None = None,
    compacted: Sequence[str] = (),
    committed_only: bool = True,
    has_remote: bool | None = None,
) -> Reconciliation:
    """Hold the logs of topics against a table that was filled from them: what it lacks, has twice, or should not have.

    `log` are directories as `replication.explain.explain` takes them, which all executors can read under these names.
    `table` has the columns `topic`, `partition` and `offset`, and may have `leader_epoch`; `columns` has other names
    for these. It is a DataFrame, the name of a table in one of Spark's catalogs, or the path of a table of Delta Lake,
    Iceberg or Parquet, which a text with a `/` or a Path is. `topics` are names or patterns; where one is named, the
    table needs no column for it. With a `window` the results are also divided by time, as the log's batches have it.
    `leader`, `compacted`, `committed_only` and `has_remote` are as there.

    The table's rows are counted as runs of offsets where they are read, and only runs are sent on. Each partition of
    the log is the work of one task. Raises NotAllowedError, NothingChosenError, and what
    `replication.explain.Sources.open` raises.

    >>> found = reconcile(spark, ["/backup/broker-1", "/backup/broker-2"], "lake.kafka.orders", topics=["orders"])
    >>> found.ranges.where("is_finding").show()
    """
    width = None if window is None else window // timedelta(milliseconds=1)
    if width is not None and width <= 0:
        raise NotAllowedError("the window", str(window), "a time from one millisecond on")
    copies = [str(Path(each).absolute()) for each in ([log] if isinstance(log, str | Path) else log)]
    held = Sources.open([Path(each) for each in copies]).partitions
    asked = [each for each in held if is_chosen(each.topic, topics)]
    if not asked:
        raise NothingChosenError(topics, {each.topic for each in held})
    send_packages(spark)
    given = table if isinstance(table, DataFrame) else open_table(spark, table)
    rows = sink_rows(given, columns or {}, topics)
    counted = rows.mapInArrow(_counting, _RUNS).groupBy("topic", "partition", "bucket").applyInArrow(_merged, _RUNS)
    marks = spark.createDataFrame([(*each, *_MARK) for each in asked], _RUNS)
    runs = marks.unionByName(counted).repartition(len(asked), "topic", "partition")
    ordered = runs.sortWithinPartitions("topic", "partition", "first_offset")
    held_against = ReconciledRows(copies, leader, frozenset(compacted), committed_only, has_remote, width)
    return Reconciliation(ordered.mapInArrow(_reconciling(held_against), spark_schema(RECONCILED)))


def _rows(table: DataFrame) -> list[dict[str, Any]]:
    """Bring rows to this process, with windows as texts."""
    if "window" not in table.columns:
        return [row.asDict() for row in table.collect()]
    rows = (row.asDict() for row in table.withColumn("window", f.unix_millis("window")).collect())
    return [{**row, "window": _time(row["window"])} for row in rows]


def _time(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)).isoformat().replace("+00:00", "Z")


def _counting(tables: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from count_rows(tables)
    keep_modules()


def _merged(runs: pa.Table) -> pa.Table:
    return pa.Table.from_batches([merged(each) for each in runs.combine_chunks().to_batches()], schema=RUNS)


def _reconciling(rows: ReconciledRows) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def reconciled(tables: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from rows.batches(tables)
        keep_modules()

    return reconciled
