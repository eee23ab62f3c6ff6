"""`epochlog epochs`."""

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replication.cli.judging.comparison import Failures
from replication.cli.output.printing import (
    EXIT_FAILED,
    EXIT_FINDINGS,
    UNREADABLE,
    JsonOption,
    print_json,
    print_table,
    shown,
)

if TYPE_CHECKING:
    from epoch import EpochEntry
    from logstore.offline.partition_directory import PartitionDirectory
    from logstore.verify import EpochComparison


def epochs(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A partition directory, log.dirs root, or what holds those of one broker or of several."
        ),
    ],
    *,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Rebuild the checkpoint files from the batches.")] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR2", help="Where --rebuild writes: DIR2/topic-partition/.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Report who led when, by the leader-epoch checkpoint and by the batches, and explain each difference.

    Exit status 1 if they differ, 2 if something could not be read. DIR itself is never changed.

    Examples:
      epochlog epochs /var/kafka-logs
      epochlog epochs /var/kafka-logs/orders-0 --rebuild --output /tmp/rebuilt
    """
    from replication.copies.planning.replica import open_alone, open_copies

    if rebuild != (output is not None):
        raise typer.BadParameter("--rebuild and --output DIR2 go together", param_hint="--rebuild")
    failures = Failures()
    # Of several brokers it is not said whose file is to be made of those of one name.
    replicas = [open_alone(directory, on_error=failures)] if rebuild else open_copies([directory], on_error=failures)
    if output:
        _ensure_apart(output, directory, replicas[0].partitions.values())
    by_replica = {each.name: _compare(each.partitions.values(), failures) for each in replicas}
    comparisons = [each for compared in by_replica.values() for each in compared]
    written = _rebuild(comparisons, output) if output else []
    if json:
        documents = [{"replica": name, **each.as_json()} for name, compared in by_replica.items() for each in compared]
        print_json({"partitions": documents, "written": list(map(str, written)), "errors": failures.as_json()})
    else:
        _print(by_replica)
        for path in written:
            print(shown(f"rebuilt {path}"))
    if failures.matter(comparisons) or any(
        finding.kind == UNREADABLE for each in comparisons for finding in each.findings
    ):
        raise typer.Exit(EXIT_FAILED)
    if any(finding.severity.is_damage for each in comparisons for finding in each.findings):
        raise typer.Exit(EXIT_FINDINGS)


def _ensure_apart(output: Path, directory: Path, partitions: Iterable["PartitionDirectory"]) -> None:
    """Refuse to write where something was read, in DIR, around it, or through a link, and over other checkpoints."""
    from epoch.checkpoint import LEADER_EPOCH_CHECKPOINT

    read = directory.resolve()
    targets = [output / partition.path.name for partition in partitions]
    places = [output, *targets]
    for place in (each.resolve() for each in places):
        if place.is_relative_to(read) or read.is_relative_to(place):
            raise typer.BadParameter(
                f"{output} is, holds or lies in {directory}, which is never changed; name a directory outside of it",
                param_hint="--output",
            )
    for target in targets:
        if (target / LEADER_EPOCH_CHECKPOINT).exists():
            raise typer.BadParameter(
                f"{target} has a {LEADER_EPOCH_CHECKPOINT} already, which is never replaced; name an empty directory",
                param_hint="--output",
            )


def _compare(partitions: Iterable["PartitionDirectory"], failures: Failures) -> "list[EpochComparison]":
    from epoch.errors import EpochError
    from logstore.errors import LogStoreError
    from replication.base.errors import ReplicationError
    from replication.copies.planning.rereading import reread

    comparisons = []
    for partition in partitions:
        try:
            comparisons.append(reread(partition, _compare_all_of))
        except (EpochError, LogStoreError, ReplicationError, OSError) as error:
            failures(partition.topic_partition, error)
    return comparisons


def _compare_all_of(partition: "PartitionDirectory") -> "EpochComparison":
    """Compare a partition's accounts. Raises FileNotFoundError where it is gone by now."""
    from logstore.verify import compare_epochs

    comparison = compare_epochs(partition)
    if not partition.path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(partition.path))
    return comparison


def _rebuild(comparisons: Iterable["EpochComparison"], output: Path) -> list[Path]:
    """Write each partition's rebuilt checkpoint below `output`."""
    from epoch import LeaderEpochCheckpoint

    written = []
    for comparison in comparisons:
        directory = output / comparison.partition.path.name
        directory.mkdir(parents=True, exist_ok=True)
        checkpoint = LeaderEpochCheckpoint(directory)
        checkpoint.write(comparison.rebuilt.entries)
        written.append(checkpoint.path)
    return written


def _print(by_replica: Mapping[str, Sequence["EpochComparison"]]) -> None:
    """Print the comparisons; only of several brokers whose each is."""
    are_several = len(by_replica) > 1
    named = [(each, [name] * are_several) for name, compared in by_replica.items() for each in compared]
    print_table(
        "Who led when",
        (*["replica"] * are_several, "partition", "by checkpoint", "by batches"),
        [
            (*whose, str(each.partition.topic_partition), _checkpoint_in_words(each), _in_words(each.batches))
            for each, whose in named
        ],
    )
    for each, whose in named:
        for finding in each.findings:
            where = " ".join((*whose, str(each.partition.topic_partition), str(finding.file)))
            print(shown(f"{finding.severity.value}: {where}: {finding.message}"))


def _checkpoint_in_words(comparison: "EpochComparison") -> str:
    if comparison.checkpoint is not None:
        return _in_words(comparison.checkpoint)
    return "unreadable" if comparison.partition.epoch_checkpoint_path else "missing"


def _in_words(entries: Sequence["EpochEntry"]) -> str:
    return ", ".join(f"epoch {entry.epoch} from {entry.start_offset}" for entry in entries) or "nothing"
