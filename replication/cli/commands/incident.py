"""`epochlog incident`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from replication.base.counted import counted
from replication.cli.commands.audit import exit_status, interruptible
from replication.cli.judging.audit_engines import AuditRun, Engine
from replication.cli.judging.audit_files import AuditFiles, OverwriteOption
from replication.cli.judging.comparison import Failures
from replication.cli.judging.disguise import ShareOption
from replication.cli.judging.quorum_report import advise_on_snapshots, passed_on, status_of
from replication.cli.output.printing import (
    EXIT_CLEAN,
    EXIT_CRITICAL,
    EXIT_FAILED,
    JsonOption,
    complain,
    print_json,
    shown,
)
from replication.cli.output.prose import print_status, wrapped
from replication.cli.settings.masking import MaskFormOption, MaskOption, MaskSaltOption, mask_of
from replication.cli.settings.topics_option import TopicsOption, chosen_topics

if TYPE_CHECKING:
    from replication.base.next_step import Step
    from replication.copies.audit.incident.incident import Incident

_BROKER: Final = "BROKER:9092"
"""Stands for brokers that are not named."""
MOST: Final = 5
"""Entries of a section that are printed; `--verbose`, `--json` and the page have all."""
MOST_PARTITIONS: Final = 15
"""That have a line each."""
_NOT_DIFFERENT: Final = frozenset({"identical", "retention", "compaction", "damaged"})
"""Verdicts of copies that agree, or of which damage is the worst."""

_WHY: Final = {
    EXIT_FAILED: "not everything could be read",
    EXIT_CRITICAL: "acknowledged records are lost, or will be if Kafka's own course is taken",
}


def incident(
    snapshots: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]URI...",
            help="Copies of brokers' log directories, or those of brokers that are down: as for `epochlog audit`.",
        ),
    ],
    *,
    topics: TopicsOption = None,
    bootstrap: Annotated[
        str,
        typer.Option(
            "--bootstrap",
            "--bootstrap-server",
            metavar="HOST:PORT,...",
            help="Brokers, for the commands that are printed; no broker is contacted.",
        ),
    ] = _BROKER,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE.html", help="Write the audit's page, with pictures.")
    ] = None,
    before: Annotated[
        list[str] | None,
        typer.Option(
            "--before",
            metavar="[NAME=]URI",
            help="After a recovery: a copy from before it. Reports what of these copies is gone, and whether anything "
            "is left to do; may be given several times.",
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print all that is known of each partition, and every entry.")
    ] = False,
    overwrite: OverwriteOption = False,
    mask: MaskOption = None,
    mask_as: MaskFormOption = None,
    mask_salt: MaskSaltOption = None,
    share: ShareOption = False,
    json: JsonOption = False,
) -> None:
    """From dead brokers' directories to a decision: what is damaged, who diverged where and when, what each choice of
    a leader loses, who is left behind, and the next commands.

    With --topics the order of starts is chosen for those alone, although it decides who leads all others too.

    Nothing is written but the page, and no running cluster is contacted. The exit status is that of `epochlog audit`;
    the last line says why it is not 0.

    Examples:
      epochlog incident broker-1 broker-2 broker-3
      epochlog incident broker-1 broker-2 --bootstrap broker3:9092 --report incident.html
      epochlog incident broker-1 broker-2 --before broker-1.kept --before broker-2.kept
    """  # noqa: D205  typer takes the first paragraph whole
    from replication.copies.audit.incident.incident import incident_of

    masking = mask_of(mask, mask_as, mask_salt, share=share)
    files = AuditFiles(report, None, None, overwrite=overwrite, share=share)
    files.ensure_writable()
    options = {"topics": chosen_topics(topics), "mask": masking}
    with interruptible():
        document = AuditRun(snapshots, Engine.AUTO, None, None, files).document(options, json=json)
        earlier = AuditRun(before, Engine.AUTO, None, None, files).document(options, json=json) if before else None
    failures = Failures()
    quorum = None if topics else advise_on_snapshots(document["snapshots"], failures)
    if quorum is not None and masking is not None:
        quorum = quorum.masked(masking)
    disguise = files.disguise(document, *([earlier] if earlier else [])) if share else None
    if disguise is not None:
        document, earlier = disguise.document(document), disguise.document(earlier)
        quorum = quorum and passed_on(quorum, disguise)
        bootstrap = _BROKER
    files.write_report(document, quorum)
    found = incident_of(document, bootstrap, quorum, before=earlier)
    status = max(exit_status(document, written=not files.failures), status_of(quorum))
    if failures.as_json():
        status = max(status, EXIT_FAILED)
    if json:
        printed = {**found.as_json(), "errors": [*files.failures, *failures.as_json()]}
        print_json(disguise.document(printed) if disguise else printed)
    else:
        for line in _lines(found, everything=verbose):
            print(disguise.text(line) if disguise else line)
        if status != EXIT_CLEAN:
            print()
            print_status(status, _WHY.get(status) or _why_findings(found))
    for failure in files.failures:
        complain(failure["message"])
    if status != EXIT_CLEAN:
        raise typer.Exit(status)


def _why_findings(found: "Incident") -> str:
    """Describe what was found, where nothing worse was."""
    reasons = {
        "copies are damaged": bool(found.damage),
        "copies differ": any(stake.verdict not in _NOT_DIFFERENT for stake in found.stakes),
        "brokers that have replicas were not given": bool(found.not_given),
    }
    why = [reason for reason, is_so in reasons.items() if is_so] or ["something is to be done"]
    return f"{', '.join(why)}; of what was read nothing acknowledged is known to be lost"


def _lines(found: "Incident", *, everything: bool) -> Iterator[str]:
    most = None if everything else MOST
    yield from wrapped(found.headline)
    if found.not_given:
        yield ""
        yield from _entries([*map(str, found.not_given)], most, "", "brokers")
    if found.stakes:
        yield ""
        yield from _stakes(found, everything=everything)
    if found.of_the_quorum and not found.is_well:
        yield ""
        yield from wrapped(f"The controllers' metadata: {found.of_the_quorum}", "  ", "")
    sections = {
        "Damage": found.damage,
        "Transactions without an end": found.transactions,
        "Consumer groups beyond the end": found.groups,
    }
    for title, entries in sections.items():
        if entries:
            yield ""
            yield f"{title}:"
            yield from _entries(entries, most, "  ", "entries")
    if not found.is_well and (none := [title.lower() for title, entries in sections.items() if not entries]):
        yield ""
        yield from wrapped(f"None found: {', '.join(none)}.")
    if found.steps:
        yield ""
        yield "Next, in this order:"
    shown_steps = [step for step in found.steps if everything or not step.is_preliminary]
    for number, step in enumerate(shown_steps, 1):
        yield from _step(number, step)
    if hidden := len(found.steps) - len(shown_steps):
        yield from wrapped(
            f"If nothing of that can be done, {counted(hidden, 'preliminary step')} hold: this command with --verbose "
            "prints them"
        )


def _stakes(found: "Incident", *, everything: bool) -> Iterator[str]:
    """Give a line for each partition, or all that is known of it."""
    if everything:
        for number, stake in enumerate(found.stakes):
            yield from [""] * bool(number)
            yield f"{shown(stake.partition)}: {stake.verdict}"
            for sentence in stake.sentences:
                yield from wrapped(sentence, "  ")
        return
    yield from _entries([each.in_short for each in found.stakes], MOST_PARTITIONS, "  ", "partitions")
    for reason in found.untold:
        yield from wrapped(f"{reason[0].upper()}{reason[1:]}.")


def _entries(entries: Sequence[str], most: int | None, indent: str, what: str) -> Iterator[str]:
    for entry in entries[:most]:
        yield from wrapped(entry, f"{indent}  ", indent)
    if most is not None and len(entries) > most:
        yield f"{indent}and {len(entries) - most:,} more {what}: --verbose, --json or --report has them"


def _step(number: int, step: "Step") -> Iterator[str]:
    yield from wrapped(step.what, "   ", f"{number}. ")
    yield from (f"     {command}" for command in step.commands)
    for title, text in step.told():
        yield from wrapped(f"{title}: {text}", "     ", "   ")
    yield from (f"     {command}" for command in step.check_commands)
