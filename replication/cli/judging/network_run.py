"""Where `epochlog audit --bootstrap` does its work: it reads the replicas of a running cluster over the network."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.cli.judging.audit_files import AuditFiles
from replication.cli.output.failure import CommandError, MissingPackageError
from replication.cli.output.printing import complain, progress_bar
from replication.cli.settings.connection import client_settings

if TYPE_CHECKING:
    from replication.cluster.network_audit.distributed_look import RunTasks


class NetworkRun:
    """One audit of a cluster, as its options say."""

    def __init__(
        self,
        bootstrap: str,
        command_config: Path | None,
        rate: int | None,
        state: Path | None,
        files: AuditFiles,
        snapshots: Sequence[str] = (),
        *,
        spark: bool = False,
        master: str | None = None,
    ) -> None:
        """`snapshots` name copies of some brokers, which are read instead of these; with `spark` it does the work."""
        self._bootstrap = bootstrap
        self._command_config = command_config
        self._rate = rate
        self._state = state
        self._files = files
        self._snapshots = snapshots
        self._spark = spark
        self._master = master

    def document(self, options: Mapping[str, Any], *, json: bool) -> dict[str, Any]:
        """Do the audit, and write the tables; return what `--json` prints."""
        try:
            from replication.copies.audit.pipeline.audit_options import AuditOptions
            from replication.copies.audit.snapshots.snapshot import list_snapshots, local_directories
        except ModuleNotFoundError as error:
            raise MissingPackageError("the audit needs", error, "audit") from error
        try:
            from replication.cluster.network_audit.network_auditing import NetworkAudit
            from replication.wire.client.cluster_client import ClusterClient
        except ModuleNotFoundError as error:
            raise MissingPackageError("connecting to a cluster needs", error, "wire") from error
        settings = client_settings(self._command_config)
        found = list_snapshots(self._snapshots) if self._snapshots else []
        self._files.ensure_apart_from(local_directories(self._snapshots, found))
        checked = AuditOptions(**options).checked()
        with ClusterClient(self._bootstrap, settings) as client, self._elsewhere() as (run, tasks):
            audit = NetworkAudit(client, self._bootstrap, checked, self._rate, found, run, tasks)
            wanted = not (json and sys.stdout.isatty())
            estimate = audit.estimate()
            if not json:
                complain(str(estimate))
            with progress_bar("auditing", estimate.bytes, wanted=wanted) as advance:
                audited = audit.carry_out(progress=advance, state=self._state)
                document = audited.document
        self._files.write_local_tables(audited)
        return document

    @contextmanager
    def _elsewhere(self) -> "Iterator[tuple[RunTasks | None, int]]":
        """Return what carries out tasks on Spark, where it is to, and how many of them run at once."""
        if not self._spark:
            yield None, 1
            return
        try:
            from replication.copies.audit.spark.sessions.session import is_connected, session_for_a_while
            from replication.copies.audit.spark.sessions.spark_failure import SPARK_ERRORS, cause_of
            from replication.copies.audit.spark.sessions.stepped_job import run_in_steps
        except ModuleNotFoundError as error:
            raise MissingPackageError("an audit with Spark needs", error, "spark") from error
        try:
            with session_for_a_while(self._master) as spark:
                if self._rate is not None and is_connected(spark):
                    raise CommandError("--rate: how many tasks share it, a session of Spark Connect does not say")
                at_once = 1 if is_connected(spark) else spark.sparkContext.defaultParallelism
                yield partial(run_in_steps, spark), at_once
        except SPARK_ERRORS as error:
            raise CommandError(f"the Spark job failed: {cause_of(error)}") from error
