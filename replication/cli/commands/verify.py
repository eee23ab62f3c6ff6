"""`epochlog verify`."""

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replication.base.counted import counted
from replication.cli.output.emphasis import emphasized
from replication.cli.output.json_array import print_json_array
from replication.cli.output.printing import (
    EXIT_CLEAN,
    EXIT_FAILED,
    EXIT_FINDINGS,
    UNREADABLE,
    JsonOption,
    print_row,
    progress_bar,
    shown,
)

if TYPE_CHECKING:
    from logstore.verify import Finding

COLUMNS = ("severity", "directory", "partition", "file", "position", "offset", "kind", "message")


def verify(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Partition directories, log.dirs roots, or directories that hold them."),
    ],
    *,
    records: Annotated[
        bool, typer.Option("--records", help="Decode every record too, compressed ones included.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Check every file of a replica against every other, and report everything that is wrong.

    Exit status 1 if there is damage, 2 if a file could not be read. Warnings, which Kafka repairs by itself, are not
    damage. Nothing is changed.

    Examples:
      epochlog verify /var/kafka-logs
      epochlog verify /var/kafka-logs/orders-0 --records
      epochlog verify broker-1 broker-2 broker-3 --json
    """
    from logstore.verify import bytes_to_read
    from logstore.verify import verify as findings_of
    from replication.copies.planning.named_roots import directories_in

    opened = {
        (named if each.path == named.absolute() else named / each.path.relative_to(named.absolute())): each
        for named in directories
        for each in directories_in(named)
    }
    size = sum(map(bytes_to_read, opened.values()))
    tally = Tally()
    with progress_bar("verifying", size, wanted=not (json and sys.stdout.isatty())) as advance:
        findings = tally.counted(
            chain(
                _doubled(directories),
                (
                    (directory, finding)
                    for directory, each in opened.items()
                    for finding in findings_of(each, records=records, progress=advance)
                ),
            )
        )
        if json:
            print_json_array(
                "findings",
                ({"directory": str(directory), **finding.as_json()} for directory, finding in findings),
                lambda: {"bytes": size, **tally.as_json()},
            )
        elif sys.stdout.isatty():
            _print_blocks(findings)
        else:
            _print_rows(findings)
    if not json:
        print(f"{counted(size, 'byte')} of log read: {tally}")
        if tally.damage:
            print("Where another replica has a sound copy: epochlog repair DIR --from OTHER --output COPY")
    if tally.exit_status != EXIT_CLEAN:
        raise typer.Exit(tally.exit_status)


def _doubled(directories: Sequence[Path]) -> Iterator[tuple[Path, "Finding"]]:
    """Find the partitions that one broker has in several of the roots that are named, or in what is named."""
    from logstore.verify.finding import Reporter
    from replication.copies.planning.doubled_partition import PARTITION_DOUBLED
    from replication.copies.planning.named_roots import brokers_in, doubled_in, properties_of

    for roots in brokers_in(directories):
        properties = properties_of(roots[0])
        broker = f"broker {properties.node_id}" if properties and properties.node_id is not None else "a broker"
        for partition, error in doubled_in(broker, roots).items():
            yield roots[0].path, Reporter(partition).error(PARTITION_DOUBLED, str(error), file=None)


class Tally:
    """Counts findings as they pass, so that none need be kept."""

    def __init__(self) -> None:
        self.damage = self.warnings = self.notes = self.unreadable = 0

    def counted(self, findings: Iterable[tuple[Path, "Finding"]]) -> Iterator[tuple[Path, "Finding"]]:
        """Pass the findings on."""
        for directory, finding in findings:
            if finding.kind == UNREADABLE:
                self.unreadable += 1
            elif finding.severity.is_damage:
                self.damage += 1
            elif finding.severity.needs_attention:
                self.warnings += 1
            else:
                self.notes += 1
            yield directory, finding

    @property
    def exit_status(self) -> int:
        """What could not be read might be damaged too: that it was not all looked at goes first."""
        if self.unreadable:
            return EXIT_FAILED
        return EXIT_FINDINGS if self.damage else EXIT_CLEAN

    def as_json(self) -> dict[str, int]:
        """Return the counts as `--json` prints them."""
        counts = {"damage": self.damage, "warnings": self.warnings, "notes": self.notes}
        return {**counts, "unreadable": self.unreadable}

    def __str__(self) -> str:
        none = "no damage in what was read" if self.unreadable else "no damage"
        parts = [
            counted(self.damage, "finding of damage", "findings of damage") if self.damage else none,
            counted(self.unreadable, "file unreadable", "files unreadable") if self.unreadable else "",
            counted(self.warnings, "warning", "warnings") if self.warnings else "",
            counted(self.notes, "informational finding", "informational findings") if self.notes else "",
        ]
        return ", ".join(filter(None, parts))


def _print_rows(findings: Iterable[tuple[Path, "Finding"]]) -> None:
    """Print tab-separated columns under a heading, if there are rows."""
    for number, (directory, finding) in enumerate(findings):
        if number == 0:
            print_row(COLUMNS)
        place = (finding.file, finding.position, finding.offset)
        print_row((finding.severity.value, directory, _partition(finding), *place, finding.kind, finding.message))


def _print_blocks(findings: Iterable[tuple[Path, "Finding"]]) -> None:
    """Print a block for each finding."""
    for directory, finding in findings:
        place = "/".join(part for part in (str(directory), _partition(finding), finding.file) if part)
        if finding.position is not None:
            place += f", position {finding.position:,}"
        if finding.offset is not None:
            place += f", offset {finding.offset:,}"
        message = textwrap.indent(_wrapped(shown(finding.message)), "  ")
        print(emphasized(f"{finding.severity.value}: {finding.kind}\n  {shown(place)}\n{message}\n"), flush=True)


def _partition(finding: "Finding") -> str:
    return "" if finding.topic is None else f"{finding.topic}-{finding.partition}"


def _wrapped(message: str) -> str:
    return "\n".join(textwrap.wrap(message, shutil.get_terminal_size().columns - 4, break_on_hyphens=False))
