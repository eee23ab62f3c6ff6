"""What an audit with Spark gives: its tables as DataFrames."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from replication.copies.audit.examination.copy_examiner import Row
from replication.copies.audit.pipeline.audit_outcome import AuditOutcome
from replication.copies.audit.pipeline.audit_plan import AuditPlan
from replication.copies.audit.pipeline.document import BytesRead, describe
from replication.copies.audit.spark.difference_job import differences
from replication.copies.audit.spark.internal_topic_job import stranded_in
from replication.copies.audit.spark.sessions.job_group import described, quiet_interrupts
from replication.copies.audit.spark.sessions.task_progress import watched
from replication.copies.audit.tables import DIFFERENCES, RUN, TIMESTAMP

_PARTITION: Final = ("topic", "partition")


@dataclass(frozen=True, repr=False)
class Audit(AuditOutcome):
    """The results of an audit, as DataFrames: nothing is read before rows of the first one are requested.

    What was examined is kept until `close`, so that it is read once. Each table ends with `run_id`, another one for
    each audit, and `run_at`, when its planning began: tables of several audits can be appended to one.
    """

    spark: SparkSession
    plan: AuditPlan
    examined: DataFrame
    """One row a copy, as `tables.EXAMINED` has it."""
    judged: DataFrame
    """One row a partition, as `tables.JUDGED` has it."""
    committed: DataFrame | None
    """One row a consumer group and partition, as `committed_rows` gives it; None where no copy has any."""
    other_findings: DataFrame | None
    """Findings that planning has made."""
    kept: tuple[DataFrame, ...]
    read_batches: Callable[[], DataFrame]
    progress: Callable[[int], None]
    """Is called with the number of bytes of log that were examined, while the document is made."""

    @cached_property
    def partitions(self) -> DataFrame:
        """One row a partition: its verdict."""
        return self.of_run(self._partitions)

    @cached_property
    def pairs(self) -> DataFrame:
        """One row for each copy as the leader of each other one: what the follower would truncate."""
        return self.of_run(self._in_partitions("pairs"))

    @cached_property
    def forks(self) -> DataFrame:
        """One row for each two copies that have forked: where they part."""
        return self.of_run(self._in_partitions("forks"))

    @cached_property
    def branches(self) -> DataFrame:
        """One row a copy: where its log begins and ends, and who led when."""
        return self.of_run(self._in_partitions("branches"))

    @cached_property
    def segments(self) -> DataFrame:
        """One row a segment of each copy."""
        return self.of_run(_exploded(self.examined, "segments"))

    @cached_property
    def epochs(self) -> DataFrame:
        """One row a leader epoch of each copy, those without a batch too."""
        return self.of_run(_exploded(self.examined, "epochs"))

    @cached_property
    def findings(self) -> DataFrame:
        """`verify`'s of each copy, and what only comparing copies shows."""
        return self.of_run(self._findings)

    @cached_property
    def differences(self) -> DataFrame:
        """One row for each record that one of two copies lacks, or has otherwise; read again each time.

        What only lags, and what retention or the cleaner has removed, is no difference.
        """
        return self.of_run(differences(self.examined, self.plan.options.mask))

    @cached_property
    def batches(self) -> DataFrame:
        """One row a batch; read again each time."""
        return self.of_run(self.read_batches())

    def difference_rows(self) -> Iterator[Row]:
        """See `AuditOutcome`. Of each partition the rows are collected by themselves."""
        times = [name for name, kind in {**DIFFERENCES, **RUN}.items() if kind == TIMESTAMP]
        rows = self.differences.withColumns({name: f.unix_micros(name) for name in times})
        for row in rows.toLocalIterator():
            yield row.asDict()

    def close(self) -> None:
        """Release what Spark keeps of the examination."""
        for table in self.kept:
            table.unpersist()

    def of_run(self, table: DataFrame) -> DataFrame:
        """Add the columns that name this audit."""
        run_at = f.timestamp_micros(f.lit(self.plan.begun_microseconds))
        return table.withColumns({"run_id": f.lit(self.run_id), "run_at": run_at})

    @property
    def _partitions(self) -> DataFrame:
        return self.judged.drop("findings")

    @property
    def _findings(self) -> DataFrame:
        found = _exploded(self.examined, "findings").union(_exploded(self.judged, "findings"))
        return found if self.other_findings is None else found.union(self.other_findings)

    def _in_partitions(self, column: str) -> DataFrame:
        rows = self.judged.select(*_PARTITION, f.explode(column).alias("row"))
        return rows.select(*_PARTITION, "row.*")

    def _describe(self) -> dict[str, Any]:
        """See `AuditOutcome`. No batches are collected."""
        plan, spark = self.plan, self.spark
        names = ", ".join(snapshot.name for snapshot in plan.snapshots)
        group = f"epochlog-audit-{plan.run_id}"
        with quiet_interrupts(spark, group):
            with (
                described(spark, group, f"examine {names} in {len(plan.tasks):,} tasks, and judge"),
                watched(spark, group, len(plan.tasks), plan.bytes, self.progress),
            ):
                partitions = [row.asDict(recursive=True) for row in self._partitions.collect()]
            with described(spark, group, f"collect what was found in {names}"):
                findings = [row.asDict() for row in self._findings.collect()]
                left_behind = stranded_in(self.examined, partitions, self.committed)
                return describe(plan, partitions, findings, left_behind, self._bytes_read())

    def _bytes_read(self) -> BytesRead:
        if self.plan.history is None:
            return BytesRead.all_of(self.plan)
        copies = self.examined.where("topic is not null")
        [(read, oldest)] = copies.agg(f.sum("bytes_read"), f.min("oldest_read")).collect()
        return BytesRead(read or 0, oldest)


def _exploded(table: DataFrame, column: str) -> DataFrame:
    return table.select(f.explode(column).alias("row")).select("row.*")
