"""What an audit gives: its tables, and what is done with them."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from replication.audit.judgement.history import Changes, Run, keep_run, latest_run
from replication.audit.judgement.verdict import Verdict
from replication.audit.report.lineage import draw
from replication.audit.snapshots.snapshot import Snapshot
from replication.audit.snapshots.work import Task
from replication.audit.spark.difference_job import differences
from replication.audit.spark.document import AuditedTables, describe
from replication.errors import AuditNotCleanError, NotAllowedError

RUN_COLUMNS: Final = ("run_id", "run_at")
"""Which audit a row is of: the last two columns of each table."""
_PARTITION: Final = ("topic", "partition")
_MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, repr=False)
class Audit:
    """The results of an audit, as DataFrames: nothing is read before rows of the first one are requested.

    What was examined is kept until `close`, so that it is read once. Each table ends with `run_id`, another one for
    each audit, and `run_at`, when its planning began: tables of several audits can be appended to one.
    """

    spark: SparkSession
    named: tuple[str | Path, ...]
    """The snapshots as the caller named them."""
    snapshots: tuple[Snapshot, ...]
    tasks: tuple[Task, ...]
    begun: float
    """When the planning began, in seconds since 1970 UTC."""
    examined: DataFrame
    """One row a copy, as `tables.EXAMINED` has it."""
    judged: DataFrame
    """One row a partition, as `tables.JUDGED` has it."""
    other_findings: DataFrame | None
    """Findings about partitions of which there is no copy."""
    kept: tuple[DataFrame, ...]
    read_batches: Callable[[], DataFrame]

    @cached_property
    def run_id(self) -> str:
        """Names this audit: 32 hexadecimal digits."""
        return uuid4().hex

    @cached_property
    def partitions(self) -> DataFrame:
        """One row a partition: its verdict."""
        return self.of_run(self.judged.drop("findings"))

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
        found = _exploded(self.examined, "findings").union(_exploded(self.judged, "findings"))
        return self.of_run(found if self.other_findings is None else found.union(self.other_findings))

    @cached_property
    def differences(self) -> DataFrame:
        """One row for each record that one of two copies lacks, or has otherwise; read again each time.

        What only lags, and what retention or the cleaner has removed, is no difference.
        """
        return self.of_run(differences(self.examined))

    @cached_property
    def batches(self) -> DataFrame:
        """One row a batch; read again each time."""
        return self.of_run(self.read_batches())

    @property
    def bytes(self) -> int:
        """Bytes of log in all copies that are examined."""
        return sum(copy.bytes for copy in self._copies().values())

    @cached_property
    def document(self) -> dict[str, Any]:
        """The audit as one object: what `epochlog audit --json` prints. Spark does the audit for it, unless it has."""
        tables = AuditedTables(self.partitions.drop(*RUN_COLUMNS), self.findings.drop(*RUN_COLUMNS))
        return describe(
            self.spark, tables, self.named, self.snapshots, begun=self.begun, size=self.bytes, tasks=len(self.tasks)
        )

    def keep_in(self, directory: str | Path) -> Changes | None:
        """Keep what was found in `directory`, and tell what is new since the last run there; None in the first one.

        The same files as of `epochlog audit --history`. Raises HistoryError, OSError, and what Spark raises.
        """
        place = Path(directory)
        before, now = latest_run(place), Run.of(self.document)
        keep_run(place, now)
        return Changes.between(before, now) if before else None

    def assert_clean(self, allow: Collection[str] = ()) -> None:
        """Raise AuditNotCleanError where a partition is not `identical`, and its verdicts are not all in `allow`.

        Raises it for each finding of severity critical as well: acknowledged records are lost, or will be.
        NotAllowedError names the verdicts that there are.

        >>> audited.assert_clean(allow={"retention", "compaction", "lagging"})
        """
        verdicts = {verdict.value for verdict in Verdict}
        for name in allow:
            if name not in verdicts:
                raise NotAllowedError("a verdict to allow", name, ", ".join(sorted(verdicts)))
        allowed = {*allow, Verdict.IDENTICAL.value}
        wrong = [
            f"{each['topic']}-{each['partition']}: {', '.join(each['verdicts'])}"
            for each in self.document["partitions"]
            if not allowed.issuperset(each["verdicts"])
        ]
        lost = [
            f"{each['replica']}: {each['message']}"
            for each in self.document["findings"]
            if each["severity"] == "critical"
        ]
        if wrong or lost:
            raise AuditNotCleanError(lost, wrong)

    def close(self) -> None:
        """Release what Spark keeps of the examination."""
        for table in self.kept:
            table.unpersist()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        names = ", ".join(snapshot.name for snapshot in self.snapshots)
        return f"<Audit of {names}: {len(self._copies()):,} copies, {self.bytes:,} bytes of log>"

    def _repr_html_(self) -> str:
        """Show in a notebook what was found, with a picture of the fork that costs most, once `document` was read."""
        described = f"<p>{escape(repr(self))}</p>"
        if "document" not in self.__dict__:
            return f"{described}<p>Nothing was read yet: ask for <code>document</code> or rows of a table.</p>"
        partitions = self.document["partitions"]
        counts = Counter(each["verdict"] for each in partitions).most_common()
        rows = "".join(f"<tr><td>{escape(verdict)}</td><td>{count:,}</td></tr>" for verdict, count in counts)
        forked = max((each for each in partitions if each["forks"]), key=_records_at_stake, default=None)
        picture = "" if forked is None else f"<p>{escape(forked['topic'])}-{forked['partition']}</p>{draw(forked)}"
        return f"{described}<table><tr><th>verdict</th><th>partitions</th></tr>{rows}</table>{picture}"

    def _copies(self) -> dict[tuple[str, str], Any]:
        return {(job.copy.root, job.copy.directory): job.copy for task in self.tasks for job in task if job.copy}

    def _in_partitions(self, column: str) -> DataFrame:
        rows = self.judged.select(*_PARTITION, f.explode(column).alias("row"))
        return rows.select(*_PARTITION, "row.*")

    def of_run(self, table: DataFrame) -> DataFrame:
        """Add the columns that name this audit."""
        run_at = f.timestamp_micros(f.lit(round(self.begun * _MICROSECONDS)))
        return table.withColumns({"run_id": f.lit(self.run_id), "run_at": run_at})


def _exploded(table: DataFrame, column: str) -> DataFrame:
    return table.select(f.explode(column).alias("row")).select("row.*")


def _records_at_stake(partition: dict[str, Any]) -> int:
    return max((each["records_lost"] or 0 for each in partition["pairs"]), default=0)
