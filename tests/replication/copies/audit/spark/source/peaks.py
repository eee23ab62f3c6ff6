"""How much memory reads take at their peak, each measured by itself in a process of its own.

As a program it reads a JSON list of what is to be read, and prints a list of what that took.
"""

import ctypes
import gc
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from replication.copies.audit.spark.source.data_source import KafkaLogSource
from tests.data.replicas import PROJECT
from tests.replication.copies.audit.spark.source.planned import WHATEVER_IS_THERE

PAGES = Path("/proc/self")


class Read(NamedTuple):
    """What is read: a root, or a partition's directory, with options."""

    place: str
    options: dict[str, str]


class Peak(NamedTuple):
    rows: int
    bytes: int
    """Resident at the peak beyond what was before, pages of the files included."""


def peaks_of(reads: Sequence[Read]) -> list[Peak]:
    """Do the reads one after the other, after a first round that loads all that they need."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.replication.copies.audit.spark.source.peaks"],
        input=json.dumps(reads),
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [Peak(*each) for each in json.loads(done.stdout)]


def rows_in(read: Read) -> int:
    unasked = WHATEVER_IS_THERE if read.options.get("rows") == "records" else {}
    source = KafkaLogSource({"path": read.place, **unasked, **read.options})
    reader = source.reader(source.schema())
    return sum(rows.num_rows for task in reader.partitions() for rows in reader.read(task))


def peak_of(read: Read) -> Peak:
    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    before = resident("VmRSS")
    (PAGES / "clear_refs").write_text("5")  # the peak begins anew
    rows = rows_in(read)
    return Peak(rows, resident("VmHWM") - before)


def resident(name: str) -> int:
    [line] = [line for line in (PAGES / "status").read_text().splitlines() if line.startswith(f"{name}:")]
    return int(line.split()[1]) << 10


def main() -> list[Peak]:
    asked: list[list[Any]] = json.load(sys.stdin)
    warm, *reads = [Read(*each) for each in asked]
    for read in reads:
        rows_in(Read(warm.place, read.options))
    return list(map(peak_of, reads))


if __name__ == "__main__":
    print(json.dumps(main()))  # noqa: T201  it answers so
