"""`epochlog truncate`."""

from pathlib import Path
from typing import Annotated

import typer

from replication.cli.output import JsonOption, print_json, progress_bar
from replication.cli.repair import InPlaceOption, OutputOption, announce, ensure_named, workplace


def _offset(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise typer.BadParameter(f"{text!r} is not an offset, which is a whole number from 0 on")
    return int(text)


def truncate(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A partition directory.")],
    *,
    to: Annotated[int, typer.Option(metavar="OFFSET", parser=_offset, help="The new log end offset.")],
    output: OutputOption = None,
    in_place: InPlaceOption = False,
    json: JsonOption = False,
) -> None:
    """Drop every batch of a log that reaches OFFSET or beyond: from segments, indexes, leader epochs and producers.

    A log that was not closed cleanly is recovered first. An offset at or beyond the log's end drops nothing.

    Example: epochlog truncate /var/kafka-logs/orders-0 --to 11530 --output /tmp/truncated
    """
    from logstore import NotALogDirectoryError, PartitionDirectory, RecoveredLog, RecoveryEstimate, open_log_directory
    from logstore.log import Log

    ensure_named(directory, output, in_place=in_place)
    opened = open_log_directory(directory)
    if not isinstance(opened, PartitionDirectory):
        raise NotALogDirectoryError(
            "a whole root cannot be truncated to one offset", file=directory, advice="name one partition's directory"
        )
    removed = RecoveredLog.load(opened).removed_by_truncation(to)
    announce(f"{removed.records:,} records in {removed.bytes:,} bytes to drop", json=json)
    estimate = RecoveryEstimate.of([opened])
    with (
        workplace(opened, output) as path,
        progress_bar("truncating", estimate.bytes) as advance,
        Log.open(path, checkpoints=opened.checkpoints, progress=advance) as log,
    ):
        before = log.log_end_offset
        if to < before:
            log.truncate_to(to)
    told = {
        "topic": opened.topic_partition.topic,
        "partition": opened.topic_partition.partition,
        "directory": str(path),
        "log_end_offset_before": before,
        "log_end_offset": log.log_end_offset,
        "records_removed": removed.records,
        "bytes_removed": removed.bytes,
        "dropped_by_recovery": log.report.dropped_bytes,
    }
    if json:
        print_json(told)
    else:
        print(
            f"{opened.topic_partition}: the log ended at {before:,} and ends at {log.log_end_offset:,}; "
            f"{removed.records:,} records in {removed.bytes:,} bytes dropped from {path}"
        )
