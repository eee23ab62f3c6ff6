"""`epochlog incident`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from replication.cli.audit import exit_status, interruptible
from replication.cli.audit_engines import AuditRun, Engine
from replication.cli.audit_files import AuditFiles
from replication.cli.comparison import Failures
from replication.cli.output import EXIT_CLEAN, EXIT_FAILED, JsonOption, complain, print_json, separated, shown
from replication.cli.prose import wrapped
from replication.cli.quorum_report import advise_on_snapshots, status_of

if TYPE_CHECKING:
    from replication.audit.incident.incident import Incident

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
        typer.Option(
            "--topics",
            metavar="NAMES",
            help="Only these topics: names or patterns, separated by commas. The order of starts is chosen for them "
            "alone, and decides who leads all others too.",
        ),
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
    options = {"topics": separated(topics)}
    with interruptible():
        document = AuditRun(snapshots, Engine.AUTO, None, None, files).document(options, json=json)
    failures = Failures()
    quorum = None if topics else advise_on_snapshots(document["snapshots"], failures)
    files.write_report(document, quorum)
    found = incident_of(document, bootstrap, quorum)
    if json:
        print_json({**found.as_json(), "errors": [*files.failures, *failures.as_json()]})
    else:
        for line in _lines(found):
            print(line)
    for failure in files.failures:
        complain(failure["message"])
    status = max(exit_status(document, written=not files.failures), status_of(quorum))
    if failures.as_json():
        status = max(status, EXIT_FAILED)
    if status != EXIT_CLEAN:
        raise typer.Exit(status)


def _lines(found: "Incident") -> Iterator[str]:
    yield from wrapped(found.headline)
    for broker in found.not_given:
        yield ""
        yield from wrapped(str(broker))
    for stake in found.stakes[:MOST]:
        yield ""
        yield f"{shown(stake.partition)}: {stake.verdict}"
        for sentence in stake.sentences:
            yield from wrapped(sentence, "  ")
    yield from _rest(len(found.stakes), "partitions")
    if found.of_the_quorum:
        yield ""
        yield from wrapped(f"The controllers' metadata: {found.of_the_quorum}", "  ", "")
    for title, entries in (
        ("Damaged", found.damage),
        ("Transactions without an end", found.transactions),
        ("Consumer groups beyond the end", found.groups),
    ):
        yield ""
        yield f"{title}: {'' if entries else 'none found'}".rstrip()
        for entry in entries[:MOST]:
            yield from wrapped(entry, "  ")
        yield from _rest(len(entries), "entries")
    yield ""
    yield "Next, in this order:"
    for number, step in enumerate(found.steps, 1):
        yield from wrapped(step.what, "   ", f"{number}. ")
        yield from (f"     {command}" for command in step.commands)
        for title, text in step.told():
            yield from wrapped(f"{title}: {text}", "     ", "   ")
        yield from (f"     {command}" for command in step.check_commands)


def _rest(count: int, what: str) -> Iterator[str]:
    if count > MOST:
        yield f"  and {count - MOST:,} more {what}: see --json or --report"
