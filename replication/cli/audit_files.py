"""The files that `epochlog audit` writes beside what it prints: the page, the tables, the history."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from replication.cli.failure import error_as_json
from replication.cli.output import told
from replication.errors import ReplicationError

if TYPE_CHECKING:
    from replication.audit import Audit, AuditOutcome, LocalAudit
    from replication.quorum_recovery import QuorumAdvice


MOST_RUNS: Final = 1_000
"""On the page of trends: the latest."""
_FORMS: Final = (".parquet", ".jsonl", ".json")


@dataclass
class AuditFiles:
    """Writes the files that were asked for; failures are noted, so that the result of long work is still printed."""

    report: Path | None
    output: Path | None
    history: str | None
    """A path, or a URI."""
    differences: Path | None = None
    metrics: Path | None = None
    trends: Path | None = None
    failures: list[dict[str, Any]] = field(default_factory=list)
    """As `--json` prints them."""

    def ensure_writable(self) -> None:
        """Say before the long work, not after it, that its results could not be written. Raises BadParameter."""
        if self.output is not None and self.output.exists():
            raise typer.BadParameter(
                f"{self.output} exists; name a directory that does not exist yet", param_hint="--output"
            )
        if self.report is not None:
            _ensure_file_writable(self.report, "--report")
        if self.metrics is not None:
            _ensure_file_writable(self.metrics, "--metrics")
        if self.trends is not None:
            _ensure_file_writable(self.trends, "--trends")
        if self.differences is not None:
            _ensure_form_known(self.differences)
            _ensure_file_writable(self.differences, "--differences")
        if self.output is not None:
            _ensure_directory_writable(self.output, "--output")
        if self._local_history is not None:
            _ensure_directory_writable(self._local_history, "--history")

    def ensure_apart_from(self, copies: Iterable[Path]) -> None:
        """Refuse to write into what is audited. Raises BadParameter."""
        requested = (
            ("--report", self.report),
            ("--differences", self.differences),
            ("--metrics", self.metrics),
            ("--trends", self.trends),
            ("--output", self.output),
            ("--history", self._local_history),
        )
        for copy in copies:
            for option, place in requested:
                if place is not None and place.resolve().is_relative_to(copy.resolve()):
                    raise typer.BadParameter(
                        f"{place} lies in {copy}, which is only read; name a place outside of it", param_hint=option
                    )

    def write_tables(self, audited: "Audit") -> None:
        """Write the tables of an audit with Spark."""
        if self.output is None:
            return
        from replication.audit.spark.sessions.spark_failure import SPARK_ERRORS
        from replication.audit.spark.written_tables import write_tables

        with self._noted("--output", self.output, OSError, *SPARK_ERRORS):
            write_tables(audited, self.output)

    def write_local_tables(self, audited: "LocalAudit") -> None:
        """Write the tables of an audit without Spark."""
        if self.output is None:
            return
        from replication.audit.local.written_tables import write_tables

        with self._noted("--output", self.output, OSError):
            write_tables(audited, self.output)

    def write_differences(self, audited: "AuditOutcome", *kinds: type[Exception]) -> None:
        """Write the records on which copies disagree; reading them may fail with errors of these kinds too."""
        if self.differences is None:
            return
        from replication.audit.pipeline.difference_file import write_differences

        with self._noted("--differences", self.differences, OSError, ReplicationError, *kinds):
            write_differences(audited.difference_rows(), self.differences)

    def write_history(self, audited: "AuditOutcome") -> None:
        """Keep the run for the next one."""
        if self.history is not None:
            with self._noted("--history", self.history, OSError):
                audited.keep()

    def write_trends(self) -> None:
        """Write the page of all runs that the history has, this one too."""
        if self.trends is None or self.history is None:
            return
        from replication.audit.pipeline.history import History
        from replication.audit.report import render_trends

        with self._noted("--trends", self.trends, OSError, ReplicationError):
            runs, errors = History.at(self.history).runs(MOST_RUNS)
            if runs:
                self.trends.write_text(render_trends(runs, list(map(str, errors))), encoding="utf-8")

    def write_report(self, document: Mapping[str, Any], quorum: "QuorumAdvice | None" = None) -> None:
        """Write the page."""
        if self.report is None:
            return
        from replication.audit.report import render

        with self._noted("--report", self.report, OSError):
            self.report.write_text(render(document, quorum=quorum), encoding="utf-8")

    def write_metrics(self, document: Mapping[str, Any]) -> None:
        """Write the file for Prometheus."""
        if self.metrics is None:
            return
        from replication.audit.report.metrics import write_metrics

        with self._noted("--metrics", self.metrics, OSError):
            write_metrics(document, self.metrics)

    @property
    def _local_history(self) -> Path | None:
        return None if self.history is None or "://" in self.history else Path(self.history)

    @contextmanager
    def _noted(self, option: str, place: Path | str, *kinds: type[Exception]) -> Iterator[None]:
        try:
            yield
        except kinds as error:
            message = f"{option} {place} was not written, or not completely: {_reason(error)}"
            self.failures.append({**error_as_json(error, message), "file": str(place)})


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return told(error)
    from replication.audit.spark.sessions.spark_failure import cause_of

    return cause_of(error)


def _ensure_form_known(file: Path) -> None:
    if file.suffix not in _FORMS:
        raise typer.BadParameter(f"{file} ends with none of {', '.join(_FORMS)}", param_hint="--differences")


def _ensure_file_writable(file: Path, option: str) -> None:
    if file.is_dir():
        raise typer.BadParameter(f"{file} is a directory; name a file", param_hint=option)
    if not file.parent.is_dir():
        raise typer.BadParameter(f"there is no directory {file.parent}", param_hint=option)
    _ensure_writable(file if file.exists() else file.parent, option)


def _ensure_directory_writable(directory: Path, option: str) -> None:
    there = next(place for place in (directory.absolute(), *directory.absolute().parents) if place.exists())
    if not there.is_dir():
        raise typer.BadParameter(f"{there} is not a directory", param_hint=option)
    _ensure_writable(there, option)


def _ensure_writable(place: Path, option: str) -> None:
    if not os.access(place, os.W_OK):
        raise typer.BadParameter(f"{place} cannot be written", param_hint=option)
