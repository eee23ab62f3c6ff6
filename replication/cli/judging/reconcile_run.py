"""Where `epochlog reconcile` does its work: with Spark, of which it keeps counts and the first findings."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from replication.cli.output.failure import CommandError, MissingPackageError
from replication.cli.output.new_copy import new_copy

if TYPE_CHECKING:
    from replication.copies.audit.spark.reconcile_job import Reconciliation

MOST_FINDINGS: Final = 1_000
"""Ranges that are brought to this process; `--output` has all."""


def reconcile_with_spark(
    copies: Sequence[Path],
    table: str,
    options: Mapping[str, Any],
    *,
    window: timedelta | None,
    master: str | None,
    output: Path | None,
) -> dict[str, Any]:
    """Hold the logs against the table; return counts, the first findings, and what was not read, and write all.

    Raises MissingPackageError, CommandError where Spark fails, and what `replication.audit.reconcile` raises.
    """
    try:
        from replication.copies.audit.spark.offsets_table import open_table
        from replication.copies.audit.spark.reconcile_job import reconcile
        from replication.copies.audit.spark.sessions.session import session_for_a_while
        from replication.copies.audit.spark.sessions.spark_failure import SPARK_ERRORS, cause_of
    except ModuleNotFoundError as error:
        raise MissingPackageError("to hold logs against a table, `reconcile` needs", error, "spark") from error
    with session_for_a_while(master) as spark:
        try:
            opened = open_table(spark, Path(table) if Path(table).exists() else table)
            _ = opened.columns
        except SPARK_ERRORS as error:
            raise CommandError(
                f"{table}: Spark cannot read this table: {cause_of(error)}; name the jars of its format, and its "
                "catalog, in spark-defaults.conf of SPARK_CONF_DIR"
            ) from error
        try:
            return _collected(reconcile(spark, copies, opened, window=window, **options), output)
        except SPARK_ERRORS as error:
            raise CommandError(f"the Spark job failed: {cause_of(error)}") from error


def _collected(found: "Reconciliation", output: Path | None) -> dict[str, Any]:
    ranges = found.ranges.persist()  # the logs and the table are read once
    try:
        if output is not None:
            with new_copy(output):
                found.write(output)
        return found.as_json(MOST_FINDINGS)
    finally:
        ranges.unpersist()
