"""`epochlog recover`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replication.cli.failure import error_as_json
from replication.cli.output import EXIT_FINDINGS, Advance, JsonOption, print_json, print_table, progress_bar
from replication.cli.repair import InPlaceOption, OutputOption, announce, ensure_named, workplace

if TYPE_CHECKING:
    from logstore import LogStoreError, TopicPartition
    from logstore.log import Log
    from logstore.partition_directory import PartitionDirectory
    from logstore.root_checkpoints import PartitionCheckpoints


def recover(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A partition directory or log.dirs root.")],
    *,
    output: OutputOption = None,
    in_place: InPlaceOption = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Check all segments, also those that count as flushed or cleanly closed.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Recover logs as Kafka does after a crash: cut off what is torn or damaged, rebuild indexes and leader epochs.

    Each log ends before its first damaged batch afterwards. Exit status 1 where anything was dropped or rebuilt.

    Example: epochlog recover /var/kafka-logs --output /tmp/recovered
    """
    from logstore import LogRoot, PartitionDirectory, RecoveryEstimate, open_log_directory

    ensure_named(directory, output, in_place=in_place)
    opened = open_log_directory(directory)
    partitions = [opened] if isinstance(opened, PartitionDirectory) else list(opened.partitions())
    if everything:
        partitions = [replace(each, checkpoints=_unchecked(each.checkpoints)) for each in partitions]
    estimate = RecoveryEstimate.of(partitions)
    announce(str(estimate), json=json)
    with workplace(opened, output) as path, progress_bar("recovering", estimate.bytes) as advance:
        if isinstance(opened, LogRoot):
            logs, unreadable = _recover_root(path, advance, everything=everything)
        else:
            logs, unreadable = [_recover_partition(path, partitions[0], advance)], {}
    if json:
        errors = [{**partition._asdict(), **error_as_json(error)} for partition, error in unreadable.items()]
        print_json({"estimate": estimate.as_json(), "partitions": list(map(_as_json, logs)), "errors": errors})
    else:
        _print(logs)
        for partition, error in unreadable.items():
            print(f"{partition} could not be recovered: {error}")
    if unreadable or any(log.report.changed for log in logs):
        raise typer.Exit(EXIT_FINDINGS)


def _recover_root(
    root: Path, advance: Advance, *, everything: bool
) -> "tuple[list[Log], dict[TopicPartition, LogStoreError]]":
    from logstore import LogDirectory

    if everything:
        _forget_what_is_flushed(root)
    with LogDirectory.open(root, progress=advance) as opened:
        return [log for _, log in sorted(opened.partitions.items())], dict(opened.unreadable)


def _recover_partition(path: Path, partition: "PartitionDirectory", advance: Advance) -> "Log":
    from logstore.log import Log

    with Log.open(path, checkpoints=partition.checkpoints, progress=advance) as log:
        return log


def _unchecked(checkpoints: "PartitionCheckpoints") -> "PartitionCheckpoints":
    return replace(checkpoints, clean_shutdown=False, recovery_point=0)


def _forget_what_is_flushed(root: Path) -> None:
    """Remove the files that spare recovery its work."""
    from epoch.filesystem import REAL
    from logstore.clean_shutdown import CLEAN_SHUTDOWN_NAME
    from logstore.offset_checkpoint import RECOVERY_POINT_CHECKPOINT

    for path in (root / CLEAN_SHUTDOWN_NAME, root / RECOVERY_POINT_CHECKPOINT):
        if path.exists():
            REAL.unlink(path)


def _as_json(log: "Log") -> dict[str, Any]:
    return {
        "topic": log.topic_partition.topic,
        "partition": log.topic_partition.partition,
        "log_start_offset": log.log_start_offset,
        "log_end_offset": log.log_end_offset,
        **log.report.as_json(),
    }


def _print(logs: "list[Log]") -> None:
    print_table(
        "Recovered",
        ("partition", "log start", "log end", "segments checked", "batches", "bytes dropped", "what was done"),
        [
            (
                str(log.topic_partition),
                log.log_start_offset,
                log.log_end_offset,
                log.report.recovered_segments,
                log.report.recovered_batches,
                log.report.dropped_bytes,
                "; ".join(_deeds(log)) or "nothing was wrong",
            )
            for log in logs
        ],
    )


def _deeds(log: "Log") -> list[str]:
    report = log.report
    deeds = [f"{tail.file} cut at {tail.position:,}: {tail.reason}" for tail in report.dropped]
    deeds += [f"{name} split" for name in report.split_segments]
    deeds += [f"indexes of {name} rebuilt" for name in report.rebuilt_indexes]
    deeds += [f"{name} removed" for name in report.removed_files]
    deeds += [f"{name} put in place" for name in report.renamed_files]
    deeds += ["leader epochs brought up to date"] if report.epochs_before != report.epochs_after else []
    return deeds
