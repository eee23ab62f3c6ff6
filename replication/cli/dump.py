"""`epochlog dump`."""

from pathlib import Path
from typing import Annotated

import typer

from replication.cli.dumping.offset_range import OffsetRange, OffsetsOption
from replication.cli.failure import MissingPackageError
from replication.cli.output import EXIT_FAILED, EXIT_FINDINGS, JsonOption, Output, shown
from replication.counted import counted


def dump(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", readable=False, help="Files or directories of a log.")
    ],
    *,
    records: Annotated[bool, typer.Option("--records", help="Also print the records of each batch.")] = False,
    offsets: OffsetsOption = ":",
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.parquet", help="Write the records to a new file instead of printing.", show_default=False
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print what is in Kafka's log files: batches, records, index entries, snapshots, checkpoints.

    With --json, one object per line, with its `file` and `kind`. Exit status 1 if anything is damaged; everything that
    can be read is still printed.

    With --output, the records of log files or partitions are written as Parquet, without control records, up to the
    first damage in each file. The file appears once it is whole.

    Example: epochlog dump orders-0/00000000000000000000.log --records --offsets 100:200
    """
    from replication.cli.dumping.files import Dump
    from replication.cli.dumping.printer import JsonPrinter, Printer, TextPrinter

    try:
        wanted = OffsetRange.parse(offsets)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--offsets") from error
    if output is not None:
        _write(paths, output, wanted, json=json)
        return
    out = Output()
    headings = len(paths) > 1 or any(path.is_dir() for path in paths)
    printer: Printer = JsonPrinter(out) if json else TextPrinter(out, headings=headings)
    dumping = Dump(printer, wanted, records=records)
    for path in paths:
        dumping.dump(path)
    if dumping.failed or printer.found_damage:
        raise typer.Exit(EXIT_FAILED if dumping.failed else EXIT_FINDINGS)


def _write(paths: list[Path], output: Path, offsets: OffsetRange, *, json: bool) -> None:
    """Write records to a file."""
    if json or output.suffix != ".parquet":
        raise typer.BadParameter("name a file that ends with .parquet, and leave out --json", param_hint="--output")
    try:
        from replication.cli.dumping.record_file import record_file
    except ModuleNotFoundError as error:
        raise MissingPackageError("to write Parquet, `dump` needs", error, "arrow") from error

    with record_file(output, offsets) as file:
        for path in paths:
            file.add(path)
    print(f"wrote {counted(file.records, 'record')} to {shown(str(output))}")
    if file.found_damage:
        raise typer.Exit(EXIT_FINDINGS)
