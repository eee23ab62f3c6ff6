"""`epochlog salvage`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from replication.cli.comparison import Failures, name_what_is_left_out
from replication.cli.failure import MissingPackageError
from replication.cli.output import EXIT_FAILED, EXIT_FINDINGS, JsonOption, print_json, shown
from replication.cli.prose import wrapped
from replication.salvage.conflict_rule import ConflictRule

if TYPE_CHECKING:
    from replication.salvage.conflict import Conflict
    from replication.salvage.examined_partition import TransactionInDoubt
    from replication.salvage.partition_report import PartitionReport
    from replication.salvage.salvage_plan import SalvagePlan
    from replication.salvage.salvaged_record import SalvagedRecord

MOST: Final = 10
"""Conflicts of a partition that are printed; `--json` has all."""
_QUOTED: Final = 40
"""Bytes of a key or value that are printed."""

_STATES: Final = {
    "open-transaction": "its transaction has no end in any copy",
    "incomplete-transaction": "its transaction was committed, but a part of it is missing",
    "undecided-transaction": "its transaction was committed, but is still open in the kept copy: end it there first",
    "conflict": "its transaction was committed, but writes a key that is in conflict",
}


def salvage(
    copies: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            readable=False,
            help="Copies of brokers' log.dirs roots, each a broker's, or a directory that holds its several roots.",
        ),
    ],
    *,
    kept: Annotated[
        str,
        typer.Option(metavar="BROKER", help="Whose copy was kept: the name of its directory, or its node.id."),
    ],
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="TARGET",
            help="Write the records to FILE.parquet, FILE.jsonl, or a new log directory (a name without a suffix).",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Report what would be written and what not, and write nothing.")
    ] = False,
    conflicts: Annotated[
        ConflictRule,
        typer.Option(
            metavar="RULE",
            help="Of a key that both sides wrote, salvage nothing (list), the losing side's last value if it is newer "
            "(newest), or in any case (losing), or all that it has (both).",
        ),
    ] = ConflictRule.LIST,
    same_key_value: Annotated[
        bool,
        typer.Option("--same-key-value", help="Leave out, too, what the kept copy has with equal key and value."),
    ] = False,
    topics: Annotated[
        str, typer.Option("--topics", metavar="NAMES", help="Only these topics, separated by commas.")
    ] = "",
    compacted: Annotated[
        str,
        typer.Option(
            "--compacted",
            metavar="NAMES",
            help="Topics that are compacted, beside those that a broker has compacted already.",
        ),
    ] = "",
    json: JsonOption = False,
) -> None:
    """Bring back what an unclean election cut off: the records that other copies hold and the kept one lacks.

    Left out, with the reason, are control markers, aborted and open transactions, what the kept copy holds too, and
    keys that were written on both sides. The copies are only read. Exit status 1 if somebody has to decide about
    records that are left out, or a copy is damaged; 2 if a partition could not be read.

    Example: epochlog salvage broker-1 broker-2 --kept broker-2 --dry-run
    """
    from replication.salvage.salvage_options import SalvageOptions
    from replication.salvage.salvage_plan import plan_salvage

    if (to is None) is not dry_run:
        raise typer.BadParameter("name a target, or look first with --dry-run; not both", param_hint="--to")
    failures = Failures()
    options = SalvageOptions(conflicts, same_key_value, frozenset(_names(compacted)))
    plan = plan_salvage(copies, kept, options, topics=_names(topics), on_error=failures)
    left_out = name_what_is_left_out(plan.replicas)
    with _target(to, copies) as write:
        reports = list(plan.reports(write, on_error=failures))
    if json:
        print_json(
            {
                "kept": plan.kept,
                "to": None if to is None else str(to),
                "conflict_rule": conflicts.value,
                "salvaged": sum(each.salvaged for each in reports),
                "partitions": [each.as_json() for each in reports],
                "not_compared": left_out,
                "errors": failures.as_json(),
            }
        )
    else:
        for line in _lines(plan, reports, to):
            print(line)
    if failures.matter(reports):
        raise typer.Exit(EXIT_FAILED)
    if any(each.is_in_doubt for each in reports):
        raise typer.Exit(EXIT_FINDINGS)


def _target(to: Path | None, copies: list[Path]) -> "AbstractContextManager[Callable[[SalvagedRecord], object]]":
    from replication.salvage.files.target import ensure_writable, open_target
    from replication.salvage.salvage_plan import discard

    if to is None:
        return nullcontext(discard)
    try:
        ensure_writable(to, copies)
    except ModuleNotFoundError as error:
        raise MissingPackageError("to write Parquet, `salvage` needs", error, "arrow") from error
    return open_target(to, copies)


def _names(given: str) -> list[str]:
    return [name.strip() for name in given.split(",") if name.strip()]


def _lines(plan: "SalvagePlan", reports: "list[PartitionReport]", to: Path | None) -> Iterator[str]:
    forked = [each for each in reports if each.forks]
    salvaged = sum(each.salvaged for each in reports)
    yield from wrapped(
        f"{_count(salvaged, 'record')} to salvage: what other copies have and {plan.kept} lacks, in {len(forked):,} of "
        f"{_count(len(reports), 'partition')}."
    )
    if to is not None:
        yield from wrapped(f"Written to {to}.")
    totals: dict[str, int] = {}
    for each in reports:
        for reason, count in each.counts.items():
            totals[reason.meaning] = totals.get(reason.meaning, 0) + count
    if totals:
        yield ""
        yield "Left out:"
        for meaning, count in totals.items():
            yield from wrapped(f"{_count(count, 'record')} {meaning}", "    ", "  ")
    for each in forked:
        yield ""
        yield from _partition(each)


def _partition(report: "PartitionReport") -> Iterator[str]:
    records = _count(report.salvaged, "record")
    yield from wrapped(f"{report.topic}-{report.partition}: {records}{_times(report)}", "  ", "")
    for fork in report.forks:
        beyond = f"has others up to {fork.kept_end - 1:,}" if fork.kept_end > fork.offset else "ends there"
        own = f"{fork.source} has offsets {fork.offset:,} to {fork.end - 1:,} beyond the fork"
        records = _count(report.by_source.get(fork.source, 0), "record")
        yield from wrapped(f"{own}, and {report.kept} {beyond}: {records} to salvage.", "  ")
    for reason, count in report.counts.items():
        yield from wrapped(f"Left out: {_count(count, 'record')} {reason.meaning}.", "    ", "  ")
    for source, offset, error in report.damage:
        yield from wrapped(f"Not read: {source} from offset {offset:,} on: {error}", "    ", "  ")
    for doubt in report.transactions[:MOST]:
        yield from wrapped(_transaction(doubt), "    ", "  ")
    if len(report.transactions) > MOST:
        yield f"  and {len(report.transactions) - MOST:,} more transactions to decide about: see --json"
    for conflict in report.conflicts[:MOST]:
        yield from wrapped(_conflict(conflict), "    ", "  ")
    if len(report.conflicts) > MOST:
        yield f"  and {len(report.conflicts) - MOST:,} more keys in conflict: see --json"


def _transaction(doubt: "TransactionInDoubt") -> str:
    return (
        f"Producer {doubt.producer_id}, epoch {doubt.producer_epoch}, of {doubt.source} from offset "
        f"{doubt.first_offset:,} on: {_STATES[doubt.reason.value]}."
    )


def _conflict(conflict: "Conflict") -> str:
    sides = (
        f"{write.source} has {_quoted(write.value)} of {_time(write.timestamp)}, epoch {write.leader_epoch}"
        for write in (conflict.losing, conflict.other)
    )
    return f"Key {_quoted(conflict.key)}: {'; '.join(sides)}."


def _quoted(content: bytes | None) -> str:
    if content is None:
        return "no value"
    text = content[:_QUOTED].decode(errors="backslashreplace")
    return f'"{shown(text)}{"..." if len(content) > _QUOTED else ""}"'


def _times(report: "PartitionReport") -> str:
    if report.first_timestamp is None or report.last_timestamp is None:
        return ""
    first, last = _time(report.first_timestamp), _time(report.last_timestamp)
    return f" of {first}" if first == last else f" of {first} to {last}"


def _time(timestamp: int) -> str:
    from datetime import UTC, datetime

    try:
        return f"{datetime.fromtimestamp(timestamp // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"timestamp {timestamp}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
