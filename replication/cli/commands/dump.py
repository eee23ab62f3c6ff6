"""`epochlog dump`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replication.base.counted import counted
from replication.cli.dumping.offset_range import OffsetRange, OffsetsOption
from replication.cli.output.failure import MissingPackageError
from replication.cli.output.printing import EXIT_FAILED, EXIT_FINDINGS, JsonOption, Output, progress_bar, shown
from replication.cli.settings.masking import MaskFormOption, MaskOption, MaskSaltOption, mask_of

if TYPE_CHECKING:
    from logstore.text.record_mask import RecordMask


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
    mask: MaskOption = None,
    mask_as: MaskFormOption = None,
    mask_salt: MaskSaltOption = None,
    json: JsonOption = False,
) -> None:
    """Print what is in Kafka's log files: batches, records, index entries, snapshots, checkpoints.

    With --json, one object per line, with its `file` and `kind`. Exit status 1 if anything is damaged; everything that
    can be read is still printed.

    With --output, the records of log files or partitions are written as Parquet, without control records, up to the
    first damage in each file. The file appears once it is whole.

    With --mask values, records of the cluster's metadata are printed as others are, and not explained.

    Examples:
      epochlog dump orders-0/00000000000000000000.log --records --offsets 100:200
      epochlog dump /var/kafka-logs/orders-0
      epochlog dump orders-0/00000000000000000000.log --output orders.parquet
    """
    from replication.cli.dumping.files import Dump, bytes_of_logs
    from replication.cli.dumping.printer import JsonPrinter, Printer, TextPrinter

    try:
        wanted = OffsetRange.parse(offsets)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--offsets") from error
    masking = mask_of(mask, mask_as, mask_salt)
    if output is not None:
        _write(paths, output, wanted, masking, json=json)
        return
    if masking is not None and not records:
        raise typer.BadParameter("without --records and --output no contents are shown; add one", param_hint="--mask")
    out = Output()
    headings = len(paths) > 1 or any(path.is_dir() for path in paths)
    printer: Printer = JsonPrinter(out, mask=masking) if json else TextPrinter(out, headings=headings, mask=masking)
    # What is printed to a terminal shows by itself how far it is.
    is_watched = sys.stderr.isatty() and not sys.stdout.isatty()
    with progress_bar("dumping", sum(map(bytes_of_logs, paths)) if is_watched else 0, wanted=is_watched) as advance:
        dumping = Dump(printer, wanted, records=records, progress=advance if is_watched else None)
        for path in paths:
            dumping.dump(path)
    if dumping.failed or printer.found_damage:
        raise typer.Exit(EXIT_FAILED if dumping.failed else EXIT_FINDINGS)


def _write(paths: list[Path], output: Path, offsets: OffsetRange, mask: "RecordMask | None", *, json: bool) -> None:
    """Write records to a file."""
    if json or output.suffix != ".parquet":
        raise typer.BadParameter("name a file that ends with .parquet, and leave out --json", param_hint="--output")
    from replication.cli.dumping.files import bytes_of_logs

    try:
        from replication.cli.dumping.record_file import record_file
    except ModuleNotFoundError as error:
        raise MissingPackageError("to write Parquet, `dump` needs", error, "arrow") from error

    with progress_bar("reading", sum(map(bytes_of_logs, paths))) as advance, record_file(output, offsets, mask) as file:
        for path in paths:
            file.add(path, advance)
    print(f"wrote {counted(file.records, 'record')} to {shown(str(output))}")
    if file.found_damage:
        raise typer.Exit(EXIT_FINDINGS)
