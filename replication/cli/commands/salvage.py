"""`epochlog salvage`."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from logstore.topic_partition import TopicPartition
from replication.base.counted import counted
from replication.cli.changing.salvage_production import cluster_client, produced, production_as_json, production_lines
from replication.cli.judging.comparison import Failures, name_what_is_left_out
from replication.cli.output.failure import MissingPackageError, UsageError
from replication.cli.output.printing import (
    EXIT_FAILED,
    EXIT_FINDINGS,
    JsonOption,
    print_json,
    progress_bar,
    separated,
    shown,
)
from replication.cli.output.prose import wrapped
from replication.cli.settings.connection import CommandConfig
from replication.cli.settings.masking import MaskFormOption, MaskOption, MaskSaltOption, mask_of
from replication.cli.settings.topics_option import TopicsOption, chosen_topics
from replication.copies.salvage.reason import Reason
from replication.copies.salvage.salvage_options import ConflictRule

if TYPE_CHECKING:
    from logstore.text.record_mask import RecordMask
    from replication.copies.salvage.columns.doubtful_transactions import TransactionInDoubt
    from replication.copies.salvage.conflict import Conflict, KeyWrite
    from replication.copies.salvage.partition_report import PartitionReport
    from replication.copies.salvage.salvage_plan import SalvagePlan
    from replication.copies.salvage.salvaged_record import SalvagedRecord

MOST: Final = 10
"""Conflicts of a partition that are printed; `--json` has all."""
_QUOTED: Final = 40
"""Bytes of a key or value that are printed, fewer than are remembered of it."""

_STATES: Final = {
    "open-transaction": "its transaction has no end in any copy",
    "incomplete-transaction": "its transaction was committed; a part of it is missing, in conflict or undecided",
    "undecided-transaction": "its transaction was committed, but is still open in the kept copy: end it there first",
    "conflict": "its transaction was committed, but writes a key that is in conflict",
}


def salvage(
    copies: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            readable=False,
            help="Copies of brokers' log.dirs roots, or directories that hold those of one broker or of several.",
        ),
    ],
    *,
    kept: Annotated[
        str,
        typer.Option(
            metavar="BROKER",
            help="The copy that was kept: the name of its directory, its node.id, or one of the DIRs.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="TARGET",
            help="Write the records to FILE.parquet, FILE.jsonl, or a new log directory (a name without a suffix).",
            show_default=False,
        ),
    ] = None,
    produce_to: Annotated[
        str | None,
        typer.Option(
            "--produce",
            metavar="HOST:PORT,...",
            help="Write the records to a running cluster, except those that an earlier run has written.",
            show_default=False,
        ),
    ] = None,
    to_topic: Annotated[
        str | None,
        typer.Option(
            "--to-topic",
            metavar="NAME",
            help="With --produce: write them to the partitions of this topic instead of their own.",
            show_default=False,
        ),
    ] = None,
    command_config: CommandConfig = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Report what would be written and what not, and write nothing.")
    ] = False,
    conflicts: Annotated[
        ConflictRule,
        typer.Option(
            metavar="RULE",
            help="Of a key that both sides wrote, salvage nothing (list), the losing side's last value if it is newer "
            "(newest), or in any case (losing), or all that it has (both). Transactions are whole or left out.",
        ),
    ] = ConflictRule.LIST,
    same_key_value: Annotated[
        bool,
        typer.Option("--same-key-value", help="Also leave out what the kept copy has with equal key and value."),
    ] = False,
    topics: TopicsOption = None,
    compacted: Annotated[
        str,
        typer.Option(
            "--compacted-topics",
            metavar="NAMES",
            help="Topics that are compacted, besides those that a broker has already compacted.",
        ),
    ] = "",
    mask: MaskOption = None,
    mask_as: MaskFormOption = None,
    mask_salt: MaskSaltOption = None,
    json: JsonOption = False,
) -> None:
    """Bring back what an unclean election cut off: the records that other copies hold and the kept one lacks.

    Control markers, aborted and open transactions, records that the kept copy holds too, and keys that were written on
    both sides are left out, with the reason. The copies are only read; of what they share by their leader epochs,
    little is read.

    With --mask nothing can be brought back from what is written: it is for looking at, and for passing on.

    Exit status 1 if an operator has to decide about records that are left out, if unexpected damage or differences were
    found, or if the kept copy lacks a partition and --topics does not name it; 2 if one could not be read, or its kept
    copy is damaged: repair that first.

    Examples:
      epochlog salvage broker-1 broker-2 --kept broker-2 --dry-run
      epochlog salvage broker-1 broker-2 --kept broker-2 --output lost.jsonl
      epochlog salvage broker-1 broker-2 --kept broker-2 --produce broker2:9092
    """
    from replication.copies.salvage.salvage_options import SalvageOptions
    from replication.copies.salvage.salvage_plan import plan_salvage

    _ensure_one_target(output, produce_to, dry_run=dry_run)
    if produce_to is None and (to_topic or command_config):
        raise typer.BadParameter("it goes with --produce", param_hint="--to-topic, --command-config")
    masking = mask_of(mask, mask_as, mask_salt)
    if masking is not None and produce_to is not None:
        raise typer.BadParameter("masked records are not to be put back; write them to a file", param_hint="--mask")
    client = None if produce_to is None else cluster_client(produce_to, command_config)
    failures = Failures()
    options = SalvageOptions(conflicts, same_key_value, frozenset(separated(compacted)))
    plan = plan_salvage(copies, kept, options, topics=chosen_topics(topics), on_error=failures)
    left_out = name_what_is_left_out(plan.replicas, {*plan.lacking, *plan.partitions})
    production = None
    if client is not None:
        shows_progress = not (json and sys.stdout.isatty())
        production = produced(plan, client, to_topic, failures, dry_run=dry_run, shows_progress=shows_progress)
        reports = production.reports
    elif output is None:
        with _progress(plan, json=json) as watched:
            reports = list(watched(plan.dry_run(on_error=failures)))
    else:
        with _target(output, copies, masking) as write, _progress(plan, json=json) as watched:
            reports = list(watched(plan.reports(write, on_error=failures)))
    if masking is not None:
        reports = [each.masked(masking) for each in reports]
    if json:
        print_json(
            {
                "kept": plan.kept,
                "to": None if output is None else str(output),
                "produced": production and production_as_json(production, dry_run=dry_run),
                "masked": [] if masking is None else list(masking.parts),
                "conflict_rule": conflicts.value,
                "salvaged": sum(each.salvaged for each in reports),
                "partitions": [each.as_json() for each in reports],
                "lacking": [{**each._asdict(), "replicas": plan.holders(each)} for each in plan.lacking],
                "not_compared": left_out,
                "errors": failures.as_json(),
            }
        )
    else:
        told = [] if production is None else production_lines(production, dry_run=dry_run)
        if output is not None:
            told = wrapped(f"Written to {output}{'' if masking is None else ', masked: not to be put back'}.")
        for line in _lines(plan, reports, told, "to salvage" if dry_run else "salvaged"):
            print(line)
    if failures.matter(reports):
        raise typer.Exit(EXIT_FAILED)
    if plan.lacking or any(each.is_in_doubt for each in reports):
        raise typer.Exit(EXIT_FINDINGS)


def _ensure_one_target(output: Path | None, produce_to: str | None, *, dry_run: bool) -> None:
    if output is not None and produce_to is not None:
        raise typer.BadParameter("name a file or a cluster, not both", param_hint="--output")
    if output is not None and dry_run:
        raise typer.BadParameter("nothing is written with --dry-run; leave one of them out", param_hint="--output")
    if output is None and produce_to is None and not dry_run:
        raise UsageError(
            "no target is named; look first with --dry-run, then write the records to a new file (--output lost.jsonl, "
            "--output lost.parquet), a new log directory (--output lost), or a cluster (--produce HOST:PORT)"
        )


@contextmanager
def _progress(
    plan: "SalvagePlan", *, json: bool
) -> Iterator[Callable[[Iterator["PartitionReport"]], Iterator["PartitionReport"]]]:
    """Give what lets reports pass and shows how much of the losing copies is done with each."""
    sizes = {each.topic_partition: each.size for each in plan.salvages()}
    with progress_bar("salvaging", sum(sizes.values()), wanted=not (json and sys.stdout.isatty())) as advance:

        def watched(reports: Iterator["PartitionReport"]) -> Iterator["PartitionReport"]:
            for each in reports:
                advance(sizes[TopicPartition(each.topic, each.partition)])
                yield each

        yield watched


def _target(
    to: Path, copies: list[Path], mask: "RecordMask | None"
) -> "AbstractContextManager[Callable[[SalvagedRecord], object]]":
    from replication.copies.salvage.files.target import ensure_writable, open_target

    try:
        ensure_writable(to, copies)
    except ModuleNotFoundError as error:
        raise MissingPackageError("to write Parquet, `salvage` needs", error, "arrow") from error
    return open_target(to, copies, mask=mask)


def _lines(plan: "SalvagePlan", reports: "list[PartitionReport]", written: Iterable[str], done: str) -> Iterator[str]:
    salvaged = counted(sum(each.salvaged for each in reports), "record")
    concerned = sum(each.salvaged > 0 for each in reports)
    yield from wrapped(
        f"{salvaged} {done}: what other copies have and {plan.kept} lacks, in {concerned:,} of "
        f"{counted(len(reports), 'partition')}."
    )
    yield from written
    totals: dict[str, int] = {}
    for each in reports:
        for reason, count in each.counts.items():
            totals[reason.meaning] = totals.get(reason.meaning, 0) + count
    if totals:
        yield ""
        yield "Left out:"
        for meaning, count in totals.items():
            yield from wrapped(f"{counted(count, 'record')} {meaning}", "    ", "  ")
    if any(each.counts.get(Reason.CONFLICT) for each in reports):
        yield from wrapped("Choose what is salvaged of keys in conflict with --conflicts newest, losing or both.")
    yield from _lacking(plan)
    for each in reports:
        if each.forks or each.is_in_doubt or not each.kept_holds:
            yield ""
            yield from _partition(each, done)


def _lacking(plan: "SalvagePlan") -> Iterator[str]:
    if not plan.lacking:
        return
    yield ""
    yield from wrapped(
        f"{plan.kept} does not hold {counted(len(plan.lacking), 'partition')} of which other copies were found: either "
        "it was never a replica, or it has lost them. Nothing of them is salvaged; to salvage all that the others hold "
        "of one, name its topic with --topics."
    )
    for each in plan.lacking[:MOST]:
        yield from wrapped(f"{each}: held by {', '.join(plan.holders(each))}", "    ", "  ")
    if len(plan.lacking) > MOST:
        yield f"  and {len(plan.lacking) - MOST:,} more: see --json"


def _partition(report: "PartitionReport", done: str) -> Iterator[str]:
    records = counted(report.salvaged, "record")
    yield from wrapped(f"{report.topic}-{report.partition}: {records}{_times(report)}", "  ", "")
    yield from _forks(report, done)
    for reason, count in report.counts.items():
        yield from wrapped(f"Left out: {counted(count, 'record')} {reason.meaning}.", "    ", "  ")
    for source, offset, error in report.damage:
        yield from wrapped(f"Not read: {source} from offset {offset:,} on: {error}", "    ", "  ")
    for source, damage in report.damage_below:
        yield from wrapped(f"Damaged below the fork: {source}: {damage}", "    ", "  ")
    for source, offset in report.differences:
        yield from wrapped(
            f"{source} and {report.kept} have different records at offset {offset:,}, under the same leader epochs. "
            "Nothing of that is salvaged: see where they begin to differ with epochlog audit.",
            "    ",
            "  ",
        )
    yield from _to_decide(report)


def _forks(report: "PartitionReport", done: str) -> Iterator[str]:
    if not report.kept_holds:
        yield from wrapped(
            f"{report.kept} does not hold it: either it was never a replica, or it has lost it. All that the others "
            "hold is taken.",
            "  ",
        )
    for fork in report.forks:
        records = counted(report.by_source.get(fork.source, 0), "record")
        has = f"{fork.source} has offsets {fork.offset:,} to {fork.end - 1:,}"
        if report.kept_holds:
            ends = "ends there" if fork.kept_end == fork.offset else f"ends at {fork.kept_end:,}"
            beyond = f"has others up to {fork.kept_end - 1:,}" if fork.kept_end > fork.offset else ends
            has = f"{has} beyond the fork, and {report.kept} {beyond}"
        yield from wrapped(f"{has}: {records} {done}.", "  ")


def _to_decide(report: "PartitionReport") -> Iterator[str]:
    for doubt in report.transactions[:MOST]:
        yield from wrapped(_transaction(doubt), "    ", "  ")
    if len(report.transactions) > MOST:
        yield f"  and {counted(len(report.transactions) - MOST, 'more transaction')} to decide about: see --json"
    for conflict in report.conflicts[:MOST]:
        yield from wrapped(_conflict(conflict), "    ", "  ")
    if len(report.conflicts) > MOST:
        yield f"  and {counted(len(report.conflicts) - MOST, 'more key')} in conflict: see --json"


def _transaction(doubt: "TransactionInDoubt") -> str:
    return (
        f"Producer {doubt.producer_id}, epoch {doubt.producer_epoch}, of {doubt.source} from offset "
        f"{doubt.first_offset:,} on: {_STATES[doubt.reason.value]}."
    )


def _conflict(conflict: "Conflict") -> str:
    sides = (
        f"{write.source} has {_value(write)} of {_time(write.timestamp)}, epoch {write.leader_epoch}"
        for write in (conflict.losing, conflict.other)
    )
    return f"Key {_quoted(conflict.key)}: {'; '.join(sides)}."


def _value(write: "KeyWrite") -> str:
    return "a tombstone" if write.value is None else _quoted(write.value)


def _quoted(content: bytes) -> str:
    text = content[:_QUOTED].decode(errors="backslashreplace")
    return f'"{shown(text)}{"..." if len(content) > _QUOTED else ""}"'


def _times(report: "PartitionReport") -> str:
    if report.first_timestamp is None or report.last_timestamp is None:
        return ""
    first, last = _time(report.first_timestamp), _time(report.last_timestamp)
    return f" of {first}" if first == last else f" of {first} to {last}"


def _time(timestamp: int) -> str:
    from replication.copies.audit.judgement.times import moment

    return moment(timestamp) or f"timestamp {timestamp}"
