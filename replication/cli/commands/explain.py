"""`epochlog explain`."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from replication.base.counted import counted
from replication.cli.dumping.offset_range import END, OffsetRange, OffsetsOption
from replication.cli.judging.asked_cluster import asking
from replication.cli.judging.comparison import Failures, tell_of_damage
from replication.cli.judging.isolation import Isolation, IsolationOption
from replication.cli.judging.offsets_table import offsets_of_table
from replication.cli.output.failure import MissingPackageError
from replication.cli.output.printing import (
    EXIT_FAILED,
    EXIT_FINDINGS,
    JsonOption,
    RemoteOption,
    complain,
    print_json,
    progress_bar,
)
from replication.cli.output.prose import wrapped
from replication.cli.settings.connection import AskOption, CommandConfig
from replication.cli.settings.replica_option import ReplicaOption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from logstore.topic_partition import TopicPartition
    from replication.copies.explain.evidence import ExplainedRange
    from replication.copies.explain.explanation import Explanation
    from replication.copies.planning.living_partition import LivingPartition

MOST: Final = 10
"""Ranges of one kind that are printed; `--json` has all."""


def explain(
    partition: Annotated[str, typer.Argument(metavar="TOPIC-PARTITION", help="Such as orders-0.")],
    copies: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="Copies of log directories or of the partition's, mirrors, and what `mirror --keep-truncated` kept.",
        ),
    ],
    *,
    offsets: OffsetsOption = ":",
    got: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The offsets that a consumer got: explain those that it lacks. Parquet or JSON lines with `offset`, "
            "numbers as text, or the directory of a table of Delta Lake, Iceberg or Parquet, which Spark reads.",
            show_default=False,
        ),
    ] = None,
    got_table: Annotated[
        str | None,
        typer.Option(
            "--got-table",
            metavar="NAME",
            help="The same, from a table in one of Spark's catalogs, such as lake.kafka.sink.",
            show_default=False,
        ),
    ] = None,
    replica: ReplicaOption = None,
    isolation: IsolationOption = Isolation.COMMITTED,
    compacted: Annotated[
        bool, typer.Option("--compacted", help="The topic is compacted: gaps between batches are the cleaner's work.")
    ] = False,
    remote: RemoteOption = None,
    ask: AskOption = None,
    command_config: CommandConfig = None,
    json: JsonOption = False,
) -> None:
    """Explain why offsets are not there, with the evidence.

    Each is delivered, a control marker, aborted, held back by an open transaction, compacted, truncated, expired, in
    remote storage, never written, or missing. With --ask the running cluster says up to where it is
    committed, and whether the topic is compacted or has remote storage.

    Exit status 1 if offsets are missing; with --got, also if it lacks offsets that are delivered, or has some that no
    consumer was given; 2 if a copy could not be read, or a file beside it.

    Examples:
      epochlog explain orders-0 broker-1 broker-2 --offsets 100:200
      epochlog explain orders-0 broker-1 broker-2 --got consumed.jsonl
      epochlog explain orders-0 broker-1 broker-2 --ask broker3:9092
    """
    from replication.copies.explain.sources import Sources
    from replication.copies.explain.why import Why

    try:
        wanted = OffsetRange.parse(offsets)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--offsets") from error
    asked = _asked(partition)
    if got is not None and got_table is not None:
        raise typer.BadParameter("name a file or a table, not both", param_hint="--got")
    had_by = got_table or (None if got is None else str(got))
    had = _had(got, got_table, asked)
    failures = Failures()
    sources = Sources.open(copies)
    with (
        asking(ask, command_config) as cluster,
        progress_bar("reading", sources.size_of(asked), wanted=not (json and sys.stdout.isatty())) as advance,
    ):
        living = cluster.about([asked], sources.replicas).get(asked)
        explained = sources.explain(
            asked,
            start=max(wanted.start, 0),
            end=None if wanted.stop >= END else wanted.stop,
            least_end=int(had[-1]) + 1 if had is not None and len(had) else 0,
            leader=replica,
            is_compacted=compacted or bool(living and living.is_compacted),
            has_remote=living.is_tiered if living and remote is None else remote,
            committed_only=isolation is Isolation.COMMITTED,
            on_error=failures,
            progress=advance,
        )
        living = cluster.with_ends().get(asked)
    if living is not None and living.high_watermark is not None:
        explained = explained.committed_to(living.high_watermark)
    left_out = sources.without(asked)
    if left_out:
        complain(f"not asked, since they hold nothing of {asked}: {', '.join(left_out)}")
    tell_of_damage(str(asked), explained.copy, explained.damage)
    lacking, unexpected = explained, None
    if had is not None:
        lacking, unexpected = explained.without(had), explained.unexpected(had)
    if json:
        print_json(
            {
                **asked._asdict(),
                "copy": explained.copy,
                "latest_and_longest": explained.latest_and_longest,
                "others": list(explained.others),
                "left_out": left_out,
                "isolation": isolation.value,
                "got": had_by,
                "start": explained.start,
                "end": explained.end,
                "log_start_offset": explained.log_start_offset,
                "log_end_offset": explained.log_end_offset,
                "damage": explained.damage,
                **lacking.as_json(),
                "unexpected": [] if unexpected is None else unexpected.as_json()["ranges"],
                "cluster": living and living.as_json(),
                "errors": failures.as_json(),
            }
        )
    else:
        for line in _lines(explained, lacking, unexpected, had_by, replica, living):
            print(line)
    if failures.matter([explained]):
        raise typer.Exit(EXIT_FAILED)
    found = [Why.MISSING, Why.UNREADABLE, *([] if unexpected is None else [Why.DELIVERED])]
    if not lacking.counts.keys().isdisjoint(found) or (unexpected is not None and unexpected.counts):
        raise typer.Exit(EXIT_FINDINGS)


def _asked(partition: str) -> "TopicPartition":
    from logstore.errors import InvalidDirectoryNameError
    from logstore.topic_partition import parse_directory_name

    try:
        return parse_directory_name(partition).topic_partition
    except InvalidDirectoryNameError as error:
        if Path(partition).is_dir():
            advice = "the partition comes first, then the directories: epochlog explain orders-0 broker-1 broker-2"
        else:
            advice = f"give a topic with a partition's number: epochlog explain {partition}-0 DIR"
        raise typer.BadParameter(f"{partition!r} names no partition; {advice}", param_hint="TOPIC-PARTITION") from error


def _had(got: Path | None, table: str | None, partition: "TopicPartition") -> "NDArray[np.int64] | None":
    if table is not None:
        return offsets_of_table(table, partition)
    if got is None:
        return None
    if got.is_dir():
        return offsets_of_table(got, partition)
    from replication.copies.explain.got_offsets import read_offsets

    try:
        return read_offsets(got, partition)
    except ModuleNotFoundError as error:
        raise MissingPackageError("to read Parquet, `explain` needs", error, "arrow") from error


def _lines(
    explained: "Explanation",
    lacking: "Explanation",
    unexpected: "Explanation | None",
    got: str | None,
    replica: str | None,
    living: "LivingPartition | None",
) -> Iterator[str]:
    beside = f", beside {', '.join(explained.others)}" if explained.others else ""
    asked = (
        "no offsets" if explained.start == explained.end else f"offsets {explained.start:,} to {explained.end - 1:,}"
    )
    yield from wrapped(f"{explained.topic_partition} as {explained.copy} has it{beside}: {asked}.")
    if replica is None and explained.latest_and_longest not in {None, explained.copy}:
        yield from wrapped(
            f"{explained.copy} led last, by its leader-epoch-checkpoint. By the records that copies "
            f"have {explained.latest_and_longest} has the latest epoch and the longest log, which `advise` and `audit` "
            "name: --replica explains that one."
        )
    if living is not None:
        yield from wrapped(f"By the cluster: {living}.")
    if got is not None:
        missing = counted(sum(lacking.counts.values()), "offset")
        yield from wrapped(f"{got} lacks {missing}.")
    for why, count in lacking.counts.items():
        yield f"{count:>15,} {why.words}"
    for why in sorted(lacking.counts, key=lambda why: why.value not in {"missing", "unreadable"}):
        if why.value != "delivered" or got is not None:
            yield ""
            yield from _ranges(lacking.of(why))
    yield from _cut_off(explained, lacking)
    if unexpected is not None and unexpected.counts:
        yield ""
        yield from wrapped(f"{got} has offsets that no consumer was given:")
        yield from _ranges(unexpected.ranges)


def _cut_off(explained: "Explanation", lacking: "Explanation") -> Iterator[str]:
    """Yield what was truncated where the log has other records by now."""
    end = explained.log_end_offset
    replaced = [
        each._replace(last_offset=min(each.last_offset, end - 1)) for each in lacking.cut_off if each.first_offset < end
    ]
    if replaced:
        yield ""
        yield from wrapped(f"Also truncated, where {explained.copy} now has other records:")
        yield from _ranges(replaced)


def _ranges(found: "Sequence[ExplainedRange]") -> Iterator[str]:
    for each in found[:MOST]:
        offsets = f"{each.first_offset:,}"
        if each.last_offset > each.first_offset:
            offsets += f" to {each.last_offset:,}"
        evidence = _evidence(each)
        yield from wrapped(f"{offsets}: {each.why.words}{'; ' if evidence else ''}{evidence}", "    ", "  ")
    if len(found) > MOST:
        yield f"  and {counted(len(found) - MOST, 'more range')}: see --json"


def _evidence(each: "ExplainedRange") -> str:
    if each.file is None or each.copy is None or each.why.value == "truncated":
        return each.evidence
    behind = "before the batch in " if each.why.value in {"missing", "compacted"} else ""
    place = f"{behind}{each.copy}: {Path(each.file).name} at byte {each.position:,}"
    return f"{each.evidence}; {place}" if each.evidence else place
