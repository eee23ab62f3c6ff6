"""`epochlog advise`."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replication.cli.judging.advice_by_epochs import advise_by_epochs
from replication.cli.judging.comparison import (
    Failures,
    ReplicationFactorOption,
    name_what_is_left_out,
    name_what_is_missing,
)
from replication.cli.judging.quorum_report import advise_on_quorum, print_quorum, status_of
from replication.cli.output.printing import (
    EXIT_CLEAN,
    EXIT_CRITICAL,
    EXIT_FAILED,
    EXIT_FINDINGS,
    UNREADABLE,
    JsonOption,
    print_json,
    print_line,
    print_table,
    progress_bar,
)
from replication.cli.settings.masking import MaskFormOption, MaskOption, MaskSaltOption, mask_of

if TYPE_CHECKING:
    from replication.copies.audit.local_judging import JudgedPartition, Missing
    from replication.copies.audit.replica_finding import ReplicaFinding
    from replication.copies.planning.replica import Replica
    from replication.copies.quorum_recovery.quorum_advice import QuorumAdvice

MOST_FINDINGS = 40
"""Of those printed as text; `--json` has all."""


def advise(
    roots: Annotated[
        list[Path],
        typer.Argument(
            metavar="ROOT ROOT...",
            help="The replicas' log.dirs roots, or directories that hold the roots of one broker or of several.",
        ),
    ],
    *,
    epochs_only: Annotated[
        bool,
        typer.Option(
            "--epochs-only", help="Judge by leader epochs alone: records are not read, and damage is not found."
        ),
    ] = False,
    replication_factor: ReplicationFactorOption = None,
    mask: MaskOption = None,
    mask_as: MaskFormOption = None,
    mask_salt: MaskSaltOption = None,
    json: JsonOption = False,
) -> None:
    """Recommend a leader for each partition: the replica that Kafka would elect, and the one that loses least; of the
    controllers' metadata, the copy to restore from.

    All bytes are read and checked, as `verify` does. Exit status 3 if acknowledged records are lost, or will be under
    the leader that Kafka elects; 2 if a partition could not be judged, or a copy could not be read or changed while it
    was read; 1 if the replicas do not agree, so that any choice loses records, or if one is damaged or missing, or if
    it is unknown whether a controller's copy has all metadata.

    One root is enough if it is a controller's: what it may lack is then reported. With --mask values, settings, users
    and addresses by which copies of the metadata differ are masked.

    Examples:
      epochlog advise broker-1 broker-2 broker-3
      epochlog advise broker-1 broker-2 broker-3 --epochs-only
      epochlog advise controller-1
    """  # noqa: D205  typer takes the first paragraph whole
    from replication.copies.audit.local_judging import missing_among
    from replication.copies.planning.replica import ensure_replicas, open_copies

    masking = mask_of(mask, mask_as, mask_salt)
    failures = Failures()
    replicas = open_copies(roots, on_error=failures)
    if len(roots) == len(replicas) == 1:
        missing: Missing = {}
        _ensure_controller(replicas[0])
    else:
        ensure_replicas(roots, replicas)
        missing = missing_among(replicas, replication_factor)
    quorum = advise_on_quorum(replicas, failures)
    if quorum is not None and masking is not None:
        quorum = quorum.masked(masking)
    if epochs_only:
        status = advise_by_epochs(replicas, missing, failures, quorum, json=json)
    else:
        status = _advise_by_records(replicas, missing, failures, quorum, json=json)
    if status != EXIT_CLEAN:
        raise typer.Exit(status)


def _ensure_controller(alone: "Replica") -> None:
    from replication.base.metadata_partition import METADATA_PARTITION

    if METADATA_PARTITION not in alone.held:
        raise typer.BadParameter(
            "name at least two roots: advice compares replicas. Of a controller, whose __cluster_metadata-0 is in its "
            "metadata.log.dir, one is enough",
            param_hint="ROOT ROOT...",
        )


def _advise_by_records(
    replicas: Sequence["Replica"],
    missing: "Missing",
    failures: Failures,
    quorum: "QuorumAdvice | None",
    *,
    json: bool,
) -> int:
    from replication.base.metadata_partition import METADATA_PARTITION
    from replication.copies.audit.local_judging import bytes_of, judge_replicas, root_findings

    wanted = not (json and sys.stdout.isatty())
    with progress_bar("reading", bytes_of(replicas, missing), wanted=wanted) as advance:
        every = list(judge_replicas(replicas, missing=missing, on_error=failures, progress=advance))
    found = [*root_findings(replicas), *(finding for each in every for finding in each.findings)]
    # Nobody chooses who leads the metadata's partition: that is the quorum's matter.
    judged = [each for each in every if (each.verdict.topic, each.verdict.partition) != METADATA_PARTITION]
    left_out = name_what_is_left_out(replicas, {*missing, METADATA_PARTITION})
    lacking = name_what_is_missing(missing)
    partitions = [each.verdict.as_json() for each in judged]
    findings = [finding.as_json() for finding in found]
    if json:
        print_json(
            {
                "epochs_only": False,
                "partitions": partitions,
                "by_epochs": [],
                "quorum": quorum and quorum.as_json(),
                "findings": findings,
                "not_compared": left_out,
                "missing": lacking,
                "errors": failures.as_json(),
            }
        )
    else:
        if quorum:
            print_quorum(quorum)
        _print(partitions, findings)
    return max(_exit_status(judged, found, failures), status_of(quorum))


def _exit_status(judged: Sequence["JudgedPartition"], found: Sequence["ReplicaFinding"], failures: Failures) -> int:
    from logstore.verify import Severity
    from replication.copies.audit.judgement.verdict import Verdict

    severities = {each.finding.severity for each in found}
    verdicts = {verdict for each in judged for verdict in each.verdict.verdicts}
    if Severity.CRITICAL in severities:
        return EXIT_CRITICAL
    unread = any(each.finding.kind == UNREADABLE for each in found)
    if unread or Verdict.UNKNOWN in verdicts or failures.matter(judged):
        return EXIT_FAILED
    harmless = {Verdict.IDENTICAL, Verdict.RETENTION, Verdict.COMPACTION}
    return EXIT_FINDINGS if Severity.ERROR in severities or verdicts - harmless else EXIT_CLEAN


def _print(partitions: Sequence[dict[str, Any]], findings: Sequence[dict[str, Any]]) -> None:
    """Print what is lost for good first, then where the choices differ, then all that is not agreed."""
    from replication.copies.audit.judgement.wording import advice_in_words, loss_in_words, replica_in_words

    agreed = [each for each in partitions if _is_agreed(each)]
    disputed = [each for each in partitions if each not in agreed]
    _print_lines(f"critical: {each['replica']}: {each['message']}" for each in findings if _is(each, "critical"))
    _print_lines(advice_in_words(each) for each in sorted(disputed, key=lambda each: not each["choices_differ"]))
    if disputed:
        print_table(
            "Who should lead",
            ("partition", "verdicts", "if this leads", "last epoch", "end offset", "what all replicas lose together"),
            [
                (
                    _name(each),
                    ", ".join(each["verdicts"]),
                    replica_in_words(candidate),
                    candidate["last_epoch"],
                    candidate["log_end_offset"],
                    loss_in_words(each, candidate),
                )
                for each in disputed
                for candidate in each["candidates"]
            ],
        )
    _print_damage([each for each in findings if _is(each, "error")])
    _print_agreed(agreed)


def _print_damage(damage: Sequence[dict[str, Any]]) -> None:
    if not damage:
        return
    columns = ("replica", "file", "position", "offset", "kind", "message")
    rows = [
        (_name(each) if each["topic"] is not None else "", *(each[column] for column in columns))
        for each in damage[:MOST_FINDINGS]
    ]
    print_table("Damage", ("partition", *columns), rows)
    if len(damage) > MOST_FINDINGS:
        print(f"and {len(damage) - MOST_FINDINGS:,} more: see --json")


def _print_agreed(agreed: Sequence[dict[str, Any]]) -> None:
    from replication.copies.audit.judgement.verdict import Verdict

    trimmed = [each for each in agreed if Verdict.RETENTION in each["verdicts"]]
    whole = [each for each in agreed if each not in trimmed and _is_high_watermark_known(each)]
    doubtful = [each for each in agreed if each not in trimmed and each not in whole]
    if whole:
        print_line(f"all copies were read, any replica may lead, nothing is lost: {', '.join(map(_name, whole))}")
    unread = [each for each in doubtful if any(branch["high_watermark_unread"] for branch in each["branches"])]
    for why, partitions in (
        ("no file has their high watermark", [each for each in doubtful if each not in unread]),
        ("a file with their high watermark could not be read", unread),
    ):
        if partitions:
            print_line(
                f"all copies were read and agree, any replica may lead; {why}, so what all may have lost at their "
                f"ends is not known: {', '.join(map(_name, partitions))}"
            )
    if trimmed:
        print_line(
            "all copies were read, any replica may lead, nothing is lost except what lies below the start of its log: "
            f"{', '.join(map(_name_with_longest, trimmed))}"
        )


def _is_agreed(partition: dict[str, Any]) -> bool:
    """Whether nothing was found by which one replica is a worse leader than another."""
    from replication.copies.audit.judgement.elected import lacks_everybody_eligible
    from replication.copies.audit.judgement.verdict import Verdict

    harmless = {Verdict.IDENTICAL, Verdict.RETENTION, Verdict.COMPACTION}
    if lacks_everybody_eligible(partition):
        return False
    return set(partition["verdicts"]) <= harmless and not any(
        each["lost"] is None or each["lost"]["records"] or each["damage"] for each in partition["candidates"]
    )


def _is_high_watermark_known(partition: dict[str, Any]) -> bool:
    """Whether some copy's broker has noted how much was committed: what no copy has any more shows by that alone."""
    return any(each["high_watermark"] is not None for each in partition["branches"])


def _name_with_longest(partition: dict[str, Any]) -> str:
    longest = min(partition["branches"], key=lambda branch: branch["log_start_offset"])
    return f"{_name(partition)} (earliest start: {longest['replica']})"


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print_line(line)


def _is(finding: dict[str, Any], severity: str) -> bool:
    return bool(finding["severity"] == severity)


def _name(place: dict[str, Any]) -> str:
    return f"{place['topic']}-{place['partition']}"
