"""`epochlog dump`."""

from pathlib import Path
from typing import Annotated

import typer

from replication.cli.output import EXIT_FAILED, EXIT_FINDINGS, JsonOption, Output


def dump(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", readable=False, help="Files or directories of a log.")
    ],
    *,
    records: Annotated[bool, typer.Option("--records", help="Also print the records of each batch.")] = False,
    offsets: Annotated[
        str,
        typer.Option(
            metavar="A:B",
            help="Only offsets from A up to, not including, B; either may be left out.",
            show_default=False,
        ),
    ] = ":",
    json: JsonOption = False,
) -> None:
    """Print what is in Kafka's log files: batches, records, index entries, snapshots, checkpoints.

    With --json, one object per line, with its `file` and `kind`. Exit status 1 if anything is damaged; everything that
    can be read is still printed.

    Example: epochlog dump orders-0/00000000000000000000.log --records --offsets 100:200
    """
    from replication.cli.dumping.files import Dump
    from replication.cli.dumping.offset_range import OffsetRange
    from replication.cli.dumping.printer import JsonPrinter, Printer, TextPrinter

    try:
        wanted = OffsetRange.parse(offsets)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--offsets") from error
    out = Output()
    headings = len(paths) > 1 or any(path.is_dir() for path in paths)
    printer: Printer = JsonPrinter(out) if json else TextPrinter(out, headings=headings)
    dumping = Dump(printer, wanted, records=records)
    for path in paths:
        dumping.dump(path)
    if dumping.failed or printer.found_damage:
        raise typer.Exit(EXIT_FAILED if dumping.failed else EXIT_FINDINGS)
