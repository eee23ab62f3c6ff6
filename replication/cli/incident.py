"""`epochlog incident`."""

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from replication.cli.audit import exit_status, interruptible
from replication.cli.audit_engines import AuditRun, Engine
from replication.cli.audit_files import AuditFiles
from replication.cli.output import EXIT_CLEAN, JsonOption, complain, print_json, shown

if TYPE_CHECKING:
    from replication.audit.incident.incident import Incident

PIPE_COLUMNS: Final = 100
MOST: Final = 40
"""Entries of a section that are printed; `--json` has all."""


def incident(
    snapshots: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]URI...",
            help="Copies of brokers' log directories, or those of brokers that are down: as for `epochlog audit`.",
        ),
    ],
    *,
    topics: Annotated[
        str,
        typer.Option("--topics", metavar="NAMES", help="Only these topics: names or patterns, separated by commas."),
    ] = "",
    bootstrap: Annotated[
        str,
        typer.Option("--bootstrap", metavar="HOST:PORT,...", help="For the commands that are printed; none is asked."),
    ] = "BROKER:9092",
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE.html", help="Write the audit's page, with pictures.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """From dead brokers' directories to a decision: what is damaged, who diverged where and when, what each choice of
    a leader loses, who is left behind, and the next commands.

    Nothing is written but the page, and nothing is asked of a running cluster. Exit status as of `epochlog audit`.

    Example: epochlog incident broker-1 broker-2 broker-3
    """  # noqa: D205  typer takes the first paragraph whole
    from replication.audit.incident.incident import incident_of

    files = AuditFiles(report, None, None)
    files.ensure_writable()
    options = {"topics": [name.strip() for name in topics.split(",") if name.strip()]}
    with interruptible():
        document = AuditRun(snapshots, Engine.AUTO, None, None, files).document(options, json=json)
    files.write_report(document)
    found = incident_of(document, bootstrap)
    if json:
        print_json({**found.as_json(), "errors": files.failures})
    else:
        for line in _lines(found):
            print(line)
    for failure in files.failures:
        complain(failure["message"])
    status = exit_status(document, written=not files.failures)
    if status != EXIT_CLEAN:
        raise typer.Exit(status)


def _lines(found: "Incident") -> Iterator[str]:
    yield from _wrapped(found.headline)
    for stake in found.stakes[:MOST]:
        yield ""
        yield f"{shown(stake.partition)}: {stake.verdict}"
        for sentence in stake.sentences:
            yield from _wrapped(sentence, "  ")
    yield from _rest(len(found.stakes), "partitions")
    for title, entries in (
        ("Damaged", found.damage),
        ("Transactions without an end", found.transactions),
        ("Consumer groups beyond the end", found.groups),
    ):
        yield ""
        yield f"{title}: {'' if entries else 'none found'}".rstrip()
        for entry in entries[:MOST]:
            yield from _wrapped(entry, "  ")
        yield from _rest(len(entries), "entries")
    yield ""
    yield "Next, in this order:"
    for number, step in enumerate(found.steps, 1):
        yield from _wrapped(step.what, "   ", f"{number}. ")
        yield from (f"     {command}" for command in step.commands)


def _wrapped(text: str, indent: str = "", first: str | None = None) -> Iterable[str]:
    """Break lines between words."""
    return textwrap.wrap(
        shown(text),
        _width(),
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _width() -> int:
    """Return the columns of the terminal; of a pipe, as many as a line of prose should have."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_COLUMNS


def _rest(count: int, what: str) -> Iterator[str]:
    if count > MOST:
        yield f"  and {count - MOST:,} more {what}: see --json or --report"
