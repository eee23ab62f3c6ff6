"""A snapshot of the cluster's metadata can be read from its first batch to its last (KIP-630)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from logstore.columns import StopReason
from logstore.log_file import LogFile
from logstore.verify.finding import Finding, Reporter

ADVICE: Final = (
    "remove it if a later or an earlier snapshot is there: a controller fetches what it lacks from the leader"
)


def check_snapshot(path: Path, report: Reporter) -> Iterator[Finding]:
    """Read a `.checkpoint` file's batches, which are those of a log file, and report the first that is wrong."""
    try:
        with LogFile.open(path) as log:
            yield from _first_fault(log, path.name, report)
    except FileNotFoundError:
        return  # a later snapshot took its place since the directory was listed
    except OSError as error:
        yield report.unreadable(error, "its batches were not checked", file=path.name)


def _first_fault(log: LogFile, name: str, report: Reporter) -> Iterator[Finding]:
    for columns in log.scan():
        wrong = np.flatnonzero(~columns.crc_valid)
        if len(wrong):
            position = int(columns.position[wrong[0]])
            yield report.error(
                "metadata-snapshot-corrupt",
                f"a batch's checksum does not hold: a controller cannot load this snapshot; {ADVICE}",
                file=name,
                position=position,
            )
            return
        if columns.stop not in {StopReason.END, StopReason.MORE}:
            yield report.error(
                "metadata-snapshot-corrupt",
                f"no whole batch begins here: a controller cannot load this snapshot; {ADVICE}",
                file=name,
                position=columns.next_position,
            )
            return
