"""Where `epochlog audit --bootstrap` does its work: it reads the replicas of a running cluster over the network."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replication.cli.judging.audit_files import AuditFiles
from replication.cli.output.failure import MissingPackageError
from replication.cli.output.printing import complain, progress_bar
from replication.cli.settings.connection import client_settings


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
    ) -> None:
        """`snapshots` name copies of some brokers, which are read instead of these."""
        self._bootstrap = bootstrap
        self._command_config = command_config
        self._rate = rate
        self._state = state
        self._files = files
        self._snapshots = snapshots

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
        with ClusterClient(self._bootstrap, settings) as client:
            audit = NetworkAudit(client, self._bootstrap, AuditOptions(**options).checked(), self._rate, found)
            wanted = not (json and sys.stdout.isatty())
            estimate = audit.estimate()
            if not json:
                complain(str(estimate))
            with progress_bar("auditing", estimate.bytes, wanted=wanted) as advance:
                audited = audit.carry_out(progress=advance, state=self._state)
                document = audited.document
        self._files.write_local_tables(audited)
        return document
