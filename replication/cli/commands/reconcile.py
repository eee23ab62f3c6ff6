"""`epochlog reconcile`."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from replication.base.counted import counted
from replication.cli.judging.audit_engines import MasterOption
from replication.cli.judging.isolation import Isolation, IsolationOption
from replication.cli.judging.reconcile_run import MOST_FINDINGS, reconcile_with_spark
from replication.cli.output.printing import (
    EXIT_FAILED,
    EXIT_FINDINGS,
    JsonOption,
    RemoteOption,
    complain,
    print_json,
    print_table,
    separated,
)
from replication.cli.output.prose import wrapped
from replication.cli.settings.replica_option import ReplicaOption
from replication.cli.settings.topics_option import TopicsOption, chosen_topics

MOST: Final = 10
"""Findings of one kind that are printed; `--json` has a thousand, and `--output` all."""
UNREAD: Final = "unread"
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_WINDOW: Final = re.compile(r"([1-9]\d{0,8})([smhd])", re.ASCII)
Rows = Sequence[dict[str, Any]]


def reconcile(
    copies: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            help="Copies of log directories or of a partition's, mirrors, and what `mirror --keep-truncated` kept.",
        ),
    ],
    *,
    table: Annotated[
        str,
        typer.Option(
            metavar="TABLE",
            help="The directory of a table of Parquet, Delta Lake or Iceberg, or a name in one of Spark's catalogs.",
        ),
    ],
    topics: TopicsOption = None,
    columns: Annotated[
        str,
        typer.Option(
            "--columns",
            metavar="NAME=COLUMN,...",
            help="What the table calls `topic`, `partition`, `offset` and `leader_epoch`, where it is something else.",
        ),
    ] = "",
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            metavar="TIME",
            help="Count by windows of time too, by the log's batches: such as 15m, 1h or 1d.",
            show_default=False,
        ),
    ] = None,
    replica: ReplicaOption = None,
    isolation: IsolationOption = Isolation.COMMITTED,
    compacted: Annotated[
        str,
        typer.Option(
            "--compacted-topics",
            metavar="NAMES",
            help="Topics that are compacted: in them gaps between batches are the cleaner's work.",
        ),
    ] = "",
    remote: RemoteOption = None,
    master: MasterOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="Write all ranges and counts to this new directory, as Parquet."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Hold the logs of topics against a table that was filled from them: what it lacks, has twice, or should not have.

    The table has a row for each record, with its topic, partition and offset, and perhaps its leader epoch. Needs
    Spark, which counts the rows; a partition's log is read in one of its tasks.

    Exit status 1 if the table lacks records, has some twice, or has rows that were truncated away, aborted or never
    written; 2 if a part of the logs or of the table could not be read.

    Examples:
      epochlog reconcile broker-1 broker-2 --table lake/orders --topics orders
      epochlog reconcile broker-1 --table lake.kafka.sink --columns offset=kafka.offset --window 1h
      epochlog reconcile /backup/cluster --table lake/sink --output findings --json
    """
    if output is not None and output.exists():
        raise typer.BadParameter(f"{output} exists; name a directory that does not exist yet", param_hint="--output")
    chosen = chosen_topics(topics)
    options = {
        "topics": chosen,
        "columns": _columns(columns),
        "leader": replica,
        "compacted": separated(compacted),
        "committed_only": isolation is Isolation.COMMITTED,
        "has_remote": remote,
    }
    width = None if window is None else _width(window)
    found = reconcile_with_spark(copies, table, options, window=width, master=master, output=output)
    left_out = sum(row["ranges"] for row in found["counts"] if row["is_finding"]) - len(found["findings"])
    for row in found["errors"]:
        complain(row["error"] if row["topic"] is None else f"{row['topic']}-{row['partition']}: {row['error']}")
    if json:
        asked = {"table": table, "topics": chosen, "isolation": isolation.value, "window": window}
        print_json({**asked, **found, "findings_left_out": left_out})
    else:
        for line in _lines(table, found["counts"], found["findings"], left_out):
            print(line)
        if window is not None:
            print()
            print_table(f"By windows of {window}", *_by_window(found["counts"]))
    if found["errors"] or any(row["status"] == UNREAD for row in found["counts"]):
        raise typer.Exit(EXIT_FAILED)
    if found["findings"]:
        raise typer.Exit(EXIT_FINDINGS)


def _columns(given: str) -> dict[str, str]:
    """Parse names of columns. Raises BadParameter."""
    pairs = [each.partition("=") for each in separated(given)]
    for name, sign, column in pairs:
        if not (name and sign and column):
            problem = f"{name or given!r} is no NAME=COLUMN, such as offset=kafka.offset"
            raise typer.BadParameter(problem, param_hint="--columns")
    return {name.strip(): column.strip() for name, _, column in pairs}


def _width(window: str) -> timedelta:
    """Parse a window. Raises BadParameter."""
    parsed = _WINDOW.fullmatch(window)
    if parsed is None:
        raise typer.BadParameter(f"{window!r} is no time such as 30s, 15m, 1h or 1d", param_hint="--window")
    return timedelta(seconds=int(parsed[1]) * _UNITS[parsed[2]])


def _lines(table: str, counts: Rows, findings: Rows, left_out: int) -> Iterator[str]:
    has, lacks = _totals(counts, "rows", in_table=True), _totals(counts, "offsets", in_table=False)
    yield from wrapped(f"{table} has {counted(sum(has.values()), 'row')} of these logs{':' if has else ''}")
    yield from _counted(has)
    if surplus := sum(row["duplicates"] for row in counts):
        yield from wrapped(f"{counted(surplus, 'row')} too many: of offsets that it has more than once")
    if doubtful := sum(row["doubtful"] for row in counts):
        yield from wrapped(
            f"{counted(doubtful, 'offset')} in doubt: other records were cut off there, and the rows have no leader "
            "epoch that would show whether they are those"
        )
    if lacks:
        yield from wrapped("Of their offsets it lacks:")
        yield from _counted(lacks)
    for kind in sorted({_kind(row) for row in findings}, key=lambda kind: (kind != "missing", kind)):
        yield ""
        yield from _ranges([row for row in findings if _kind(row) == kind])
    if left_out:
        yield ""
        yield from wrapped(
            f"{counted(left_out, 'more range')}: of the findings the first {MOST_FINDINGS:,} were collected; --output "
            "has all"
        )


def _totals(counts: Rows, name: str, *, in_table: bool) -> Counter[str]:
    totals: Counter[str] = Counter()
    for row in counts:
        if row["in_table"] is in_table:
            totals[row["status"]] += row[name]
    return totals


def _counted(totals: Counter[str]) -> Iterator[str]:
    for status, count in totals.most_common():
        yield f"{count:>15,} {_words(status)}"


def _kind(row: dict[str, Any]) -> str:
    return "duplicate" if row["status"] == "delivered" else str(row["status"])


def _ranges(found: Rows) -> Iterator[str]:
    for row in found[:MOST]:
        first, last = row["first_offset"], row["last_offset"]
        offsets = f"{first:,}" if first == last else f"{first:,} to {last:,}"
        said = [f"{row['topic']}-{row['partition']}, {offsets}: {_words(row['status'])}"]
        if row["copies"] > 1:
            said.append(f"{row['copies']:,} rows of each")
        yield from wrapped("; ".join([*said, *filter(None, [row["evidence"]])]), "    ", "  ")
    if len(found) > MOST:
        yield f"  and {counted(len(found) - MOST, 'more range')}: see --json"


def _by_window(counts: Rows) -> tuple[list[str], list[list[object]]]:
    """Return the heads and the rows of a table of windows."""
    heads = ["window", "delivered", "missing", "duplicates", "wrong rows", "unread"]
    rows: dict[str, Counter[str]] = {}
    for row in counts:
        of_window = rows.setdefault(row["window"] or "", Counter())
        of_window["duplicates"] += row["duplicates"]
        if row["status"] in heads:
            of_window[row["status"]] += row["offsets"]
        elif row["in_table"] and row["is_finding"]:
            of_window["wrong rows"] += row["rows"]
    counted_in = {start: of for start, of in rows.items() if of.total()}
    return heads, [[start or "none", *(of[head] for head in heads[1:])] for start, of in sorted(counted_in.items())]


def _words(status: str) -> str:
    return status.replace("-", " ")
