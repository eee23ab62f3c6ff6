"""Where `epochlog audit` does its work: in processes of this machine, or with Spark."""

import os
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replication.cli.judging.audit_files import AuditFiles
from replication.cli.output.failure import CommandError, MissingPackageError
from replication.cli.output.printing import progress_bar

if TYPE_CHECKING:
    from replication.copies.audit.pipeline.audit_options import AuditOptions
    from replication.copies.audit.snapshots.snapshot import Snapshot


MasterOption = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="Spark's master; by default this machine.")
]


class Engine(StrEnum):
    """What `--engine` may be."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


class AuditRun:
    """One audit by one engine, as its options say."""

    def __init__(
        self, snapshots: Sequence[str], engine: Engine, master: str | None, workers: int | None, files: AuditFiles
    ) -> None:
        if master is not None and engine is Engine.LOCAL:
            raise typer.BadParameter("it is Spark's, and cannot be with --engine local", param_hint="--master")
        if workers is not None and engine is Engine.SPARK:
            raise typer.BadParameter("Spark has its own: name them in --master local[N]", param_hint="--workers")
        self._snapshots = snapshots
        self._engine = engine
        self._master = master
        self._workers = workers
        self._files = files

    def document(self, options: Mapping[str, Any], *, json: bool) -> dict[str, Any]:
        """Do the audit, and write the tables and the history; return what `--json` prints."""
        try:
            import pyarrow as pa  # noqa: F401  both engines need it: that it is missing comes before other errors

            from replication.copies.audit.pipeline.audit_options import AuditOptions
            from replication.copies.audit.snapshots.snapshot import find_snapshots, local_directories
        except ModuleNotFoundError as error:
            raise MissingPackageError("the audit needs", error, "audit") from error
        found = find_snapshots(self._snapshots)
        self._files.ensure_apart_from(local_directories(self._snapshots, found))
        wanted = not (json and sys.stdout.isatty())
        if options.get("live") or self._is_local(found):
            return self._locally(AuditOptions(**options), found, bar=wanted)
        return self._with_spark(AuditOptions(**options), found, bar=wanted)

    def _is_local(self, found: Sequence["Snapshot"]) -> bool:
        """Choose the engine: Spark where a master is named, `spark-submit` started us, or storage is elsewhere."""
        if self._engine is not Engine.AUTO:
            return self._engine is Engine.LOCAL
        is_remote = any(not root.storage.is_local for snapshot in found for root in snapshot.roots)
        return self._master is None and "PYSPARK_GATEWAY_PORT" not in os.environ and not is_remote

    def _wish_for_spark(self) -> str:
        """Return what Spark is for; it may be optional if it was not asked for."""
        if self._engine is Engine.SPARK or self._master is not None:
            return "an audit with Spark"
        return "an audit of copies that are not on this machine, unless it has --engine local,"

    def _locally(self, options: "AuditOptions", found: Sequence["Snapshot"], *, bar: bool) -> dict[str, Any]:
        from replication.copies.audit.local.auditing import carry_out, plan_locally

        plan = plan_locally(self._snapshots, options, found, workers=self._workers)
        with progress_bar("auditing", plan.bytes, wanted=bar) as advance:
            audited = carry_out(plan, workers=self._workers, progress=advance)
            document = audited.document
        self._files.write_local_tables(audited)
        self._files.write_differences(audited)
        self._files.write_history(audited)
        return document

    def _with_spark(self, options: "AuditOptions", found: Sequence["Snapshot"], *, bar: bool) -> dict[str, Any]:
        try:
            from replication.copies.audit.pipeline.audit_plan import plan_audit
            from replication.copies.audit.spark.auditing import carry_out
            from replication.copies.audit.spark.sessions.session import session_for_a_while
            from replication.copies.audit.spark.sessions.spark_failure import SPARK_ERRORS, cause_of
        except ModuleNotFoundError as error:
            raise MissingPackageError(f"{self._wish_for_spark()} needs", error, "spark") from error
        plan = plan_audit(self._snapshots, options, found)  # its errors come before Spark takes seconds to start
        try:
            with (
                session_for_a_while(self._master) as spark,
                progress_bar("auditing", plan.bytes, wanted=bar) as advance,
                carry_out(spark, plan, progress=advance) as audited,
            ):
                document = audited.document
                self._files.write_tables(audited)
                self._files.write_differences(audited, *SPARK_ERRORS)
                self._files.write_history(audited)
        except SPARK_ERRORS as error:
            raise CommandError(f"the Spark job failed: {cause_of(error)}") from error
        return document
