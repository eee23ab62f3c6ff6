"""The files that `epochlog audit` writes beside what it prints: the page, the tables, the history."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from errno import EEXIST
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from replication.base.errors import ReplicationError
from replication.base.new_target import is_replaced, replaced_target
from replication.cli.judging.disguise import Disguise
from replication.cli.output.failure import error_as_json
from replication.cli.output.new_copy import is_full_disk, new_copy
from replication.cli.output.printing import told

if TYPE_CHECKING:
    from replication.copies.audit.local.local_audit import LocalAudit
    from replication.copies.audit.pipeline.audit_outcome import AuditOutcome
    from replication.copies.audit.spark.audit_result import Audit
    from replication.copies.quorum_recovery.quorum_advice import QuorumAdvice


MOST_RUNS: Final = 1_000
"""On the page of trends: the latest."""
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist already.")]
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
    overwrite: bool = False
    """Whether files may be replaced; a directory never is."""
    share: bool = False
    """Whether what is written, but for the history, names neither copies nor hosts and paths."""
    failures: list[dict[str, Any]] = field(default_factory=list)
    """As `--json` prints them."""

    def ensure_writable(self) -> None:
        """Raise BadParameter before the long work, not after it, if its results could not be written."""
        if self.output is not None and self.share:
            raise typer.BadParameter(
                "the tables name files and copies; --json, --report and --differences do not", param_hint="--share"
            )
        if self.output is not None and self.output.exists():
            raise typer.BadParameter(
                f"{self.output} exists; name a directory that does not exist yet", param_hint="--output"
            )
        if self.differences is not None:
            _ensure_form_known(self.differences)
        for option, file in self._named_files():
            ensure_file_writable(file, option, overwrite=self.overwrite)
        if self.output is not None:
            _ensure_directory_writable(self.output, "--output")
        if self._local_history is not None:
            _ensure_directory_writable(self._local_history, "--history")

    def disguise(self, *documents: Mapping[str, Any]) -> Disguise:
        """Return what takes names and places out of documents, and of what is said of the files."""
        disguise = Disguise.of(*documents)
        disguise.take_in_paths([self.report, self.metrics, self.trends, self.differences, self._local_history])
        return disguise

    def ensure_apart_from(self, copies: Iterable[Path]) -> None:
        """Refuse to write into what is audited. Raises BadParameter."""
        directories = (("--output", self.output), ("--history", self._local_history))
        requested = [*self._named_files(), *((option, place) for option, place in directories if place is not None)]
        for copy in copies:
            for option, place in requested:
                if place.resolve().is_relative_to(copy.resolve()):
                    raise typer.BadParameter(
                        f"{place} lies in {copy}, which is only read; name a place outside of it", param_hint=option
                    )

    def write_tables(self, audited: "Audit") -> None:
        """Write the tables of an audit with Spark."""
        if self.output is None:
            return
        from replication.copies.audit.spark.sessions.spark_failure import SPARK_ERRORS
        from replication.copies.audit.spark.written_tables import write_tables

        with self._noted("--output", self.output, OSError, *SPARK_ERRORS), new_copy(self.output):
            write_tables(audited, self.output)

    def write_local_tables(self, audited: "LocalAudit") -> None:
        """Write the tables of an audit without Spark."""
        if self.output is None:
            return
        from replication.copies.audit.local.written_tables import write_tables

        with self._noted("--output", self.output, OSError), replaced_target(self.output) as part:
            write_tables(audited, part)

    def write_differences(self, audited: "AuditOutcome", *kinds: type[Exception]) -> None:
        """Write the records on which copies disagree; reading them may fail with errors of these kinds too."""
        if self.differences is None:
            return
        from replication.copies.audit.pipeline.difference_file import write_differences

        with self._noted("--differences", self.differences, OSError, ReplicationError, *kinds):
            self._ensure_new(self.differences)
            rows = audited.difference_rows()
            if self.share:
                rows = map(self.disguise(audited.document).document, rows)
            write_differences(rows, self.differences)

    def write_history(self, audited: "AuditOutcome") -> None:
        """Keep the run for the next one."""
        if self.history is not None:
            with self._noted("--history", self.history, OSError):
                audited.keep()

    def write_trends(self) -> None:
        """Write the page of all runs that the history has, this one too."""
        if self.trends is None or self.history is None:
            return
        from replication.copies.audit.pipeline.history import History
        from replication.copies.audit.report import render_trends

        with self._noted("--trends", self.trends, OSError, ReplicationError):
            runs, errors = History.at(self.history).runs(MOST_RUNS)
            unread = list(map(str, errors))
            if self.share:
                disguise = self.disguise()
                disguise.take_in_findings(line for run in runs for line in run.findings)
                runs, unread = list(map(disguise.run, runs)), list(map(disguise.text, unread))
            if runs:
                self._ensure_new(self.trends)
                write_page(self.trends, render_trends(runs, unread))

    def write_report(self, document: Mapping[str, Any], quorum: "QuorumAdvice | None" = None) -> None:
        """Write the page."""
        if self.report is None:
            return
        from replication.copies.audit.report import render

        with self._noted("--report", self.report, OSError):
            self._ensure_new(self.report)
            write_page(self.report, render(document, quorum=quorum, is_shared=self.share))

    def write_metrics(self, document: Mapping[str, Any], status: int) -> None:
        """Write the file for Prometheus; the audit is to end with this exit status."""
        if self.metrics is None:
            return
        from replication.copies.audit.report.metrics import write_metrics

        with self._noted("--metrics", self.metrics, OSError):
            self._ensure_new(self.metrics)
            write_metrics(document, status, self.metrics)

    def _ensure_new(self, file: Path) -> None:
        """Raise FileExistsError where a file has come to be during the long work, and none may be replaced."""
        if file.is_file() and not self.overwrite:
            raise FileExistsError(EEXIST, os.strerror(EEXIST), str(file))

    def _named_files(self) -> Iterator[tuple[str, Path]]:
        """Give the files that were asked for, by the options that name them."""
        files = {
            "--report": self.report,
            "--metrics": self.metrics,
            "--trends": self.trends,
            "--differences": self.differences,
        }
        return ((option, file) for option, file in files.items() if file is not None)

    @property
    def _local_history(self) -> Path | None:
        return None if self.history is None or "://" in self.history else Path(self.history)

    @contextmanager
    def _noted(self, option: str, place: Path | str, *kinds: type[Exception]) -> Iterator[None]:
        try:
            yield
        except kinds as error:
            partly = "" if _is_written_aside(option, place) else ", or not completely"
            message = f"{option} {place} was not written{partly}: {_reason(error)}{_advice(error)}"
            self.failures.append({**error_as_json(error, message), "file": str(place)})


def _is_written_aside(option: str, place: Path | str) -> bool:
    return option != "--history" and is_replaced(Path(place))


def _advice(error: Exception) -> str:
    return "; make space, or name a place on another disk, and run it again" if is_full_disk(error) else ""


def write_page(place: Path, page: str) -> None:
    """Write a page, which has its name once it is whole. Raises OSError."""
    with replaced_target(place) as part:
        part.write_text(page, encoding="utf-8")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return told(error)
    from replication.copies.audit.spark.sessions.spark_failure import cause_of

    return cause_of(error)


def _ensure_form_known(file: Path) -> None:
    if file.suffix not in _FORMS:
        raise typer.BadParameter(f"{file} ends with none of {', '.join(_FORMS)}", param_hint="--differences")


def ensure_file_writable(file: Path, option: str, *, overwrite: bool) -> None:
    """Refuse a file that cannot be written, or would be overwritten unasked. Raises BadParameter."""
    if file.is_dir():
        raise typer.BadParameter(f"{file} is a directory; name a file", param_hint=option)
    if file.is_file() and not overwrite:
        raise typer.BadParameter(
            f"{file} already exists; name a new file, or replace it with --overwrite", param_hint=option
        )
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
