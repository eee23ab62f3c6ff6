"""`epochlog verify`."""

import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replication.cli.output import EXIT_FINDINGS, JsonOption, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from logstore.verify import Finding

COLUMNS = ("severity", "directory", "partition", "file", "position", "offset", "kind", "message")


def verify(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Partition directories or log.dirs roots.")
    ],
    *,
    records: Annotated[
        bool, typer.Option("--records", help="Decode every record too, compressed ones included.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Check every file of a replica against every other, and report all that is wrong.

    Exit status 1 where there is damage. Nothing is changed.

    Example: epochlog verify /var/kafka-logs --records
    """
    from logstore.log_root import open_log_directory
    from logstore.verify import bytes_to_read
    from logstore.verify import verify as findings_of

    opened = {directory: open_log_directory(directory) for directory in directories}
    size = sum(map(bytes_to_read, opened.values()))
    with progress_bar("verifying", size) as advance:
        findings = [
            (directory, finding)
            for directory, each in opened.items()
            for finding in findings_of(each, records=records, progress=advance)
        ]
    damage = sum(finding.severity.is_damage for _, finding in findings)
    if json:
        print_json([finding.as_json() for _, finding in findings])
    else:
        _print(findings)
        print(_summary(size, damage, len(findings) - damage))
    if damage:
        raise typer.Exit(EXIT_FINDINGS)


def _print(findings: Sequence[tuple[Path, "Finding"]]) -> None:
    """Print a block for each finding on a terminal, and tab-separated columns in a pipe."""
    if not sys.stdout.isatty():
        if findings:
            print_table("Findings", COLUMNS, [_row(directory, finding) for directory, finding in findings])
        return
    for directory, finding in findings:
        place = "/".join(part for part in (str(directory), _partition(finding), finding.file) if part)
        if finding.position is not None:
            place += f", position {finding.position:,}"
        if finding.offset is not None:
            place += f", offset {finding.offset:,}"
        print(
            f"{finding.severity.value}: {finding.kind}\n  {place}\n{textwrap.indent(_wrapped(finding.message), '  ')}\n"
        )


def _row(directory: Path, finding: "Finding") -> tuple[object, ...]:
    place = (finding.file, finding.position, finding.offset)
    return finding.severity.value, directory, _partition(finding), *place, finding.kind, finding.message


def _partition(finding: "Finding") -> str:
    return "" if finding.topic is None else f"{finding.topic}-{finding.partition}"


def _wrapped(message: str) -> str:
    return "\n".join(textwrap.wrap(message, shutil.get_terminal_size().columns - 4, break_on_hyphens=False))


def _summary(size: int, damage: int, notes: int) -> str:
    found = f"{damage} findings of damage" if damage else "no damage"
    return f"{size:,} bytes of log read: {found}" + (f", {notes} worth knowing" if notes else "")
