"""`epochlog verify`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replication.cli.output import EXIT_FINDINGS, JsonOption, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from logstore.verify import Finding


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

    opened = [open_log_directory(directory) for directory in directories]
    with progress_bar("verifying", sum(map(bytes_to_read, opened))) as advance:
        findings = [
            finding for directory in opened for finding in findings_of(directory, records=records, progress=advance)
        ]
    if json:
        print_json([finding.as_json() for finding in findings])
    else:
        _print(findings, sum(map(bytes_to_read, opened)))
    if any(finding.severity.is_damage for finding in findings):
        raise typer.Exit(EXIT_FINDINGS)


def _print(findings: Sequence["Finding"], size: int) -> None:
    if findings:
        print_table(
            "Findings",
            ("severity", "partition", "file", "position", "offset", "kind", "message"),
            [
                (
                    str(finding.severity.value),
                    "" if finding.topic is None else f"{finding.topic}-{finding.partition}",
                    finding.file,
                    finding.position,
                    finding.offset,
                    finding.kind,
                    finding.message,
                )
                for finding in findings
            ],
        )
    damage = sum(finding.severity.is_damage for finding in findings)
    notes = len(findings) - damage
    print(
        f"{size:,} bytes of log read: "
        + (f"{damage} findings of damage" if damage else "no damage")
        + (f", {notes} worth knowing" if notes else "")
    )
