"""What was measured: the one form in which all measuring programs hand on their figures, as JSON.

A run is one pass of one program, with the machine it ran on. Its rows name a piece of work and give, for each side that
did it, the nanoseconds an operation took in each round.
"""

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

OURS: Final = "epochlog"
KAFKA: Final = "Kafka"
BARE_WRITE: Final = "write()"
"""No implementation of the same work: how close it comes is a matter of the disk."""
ROOT: Final = Path(__file__).parent.parent
LIBRARIES: Final = ("numba", "numpy")


@dataclass
class Row:
    """One kind of work, done by one side or several, in turn."""

    name: str
    """What is done: stable, as targets and floors refer to it."""
    times: dict[str, list[float]] = field(default_factory=dict)
    """Nanoseconds an operation, a figure for each round, by side."""
    bytes: int = 0
    """Of one operation, where throughput is what matters."""
    items: float = 0
    """Of one operation, where items a second are what matters."""
    unit: str = ""
    """What an item is: batches, records, answers, entries, partitions."""
    memory: int = 0
    """Bytes that are held in memory while the work lasts, where that is measured too."""
    group: str = ""
    """The suite or the curve that it belongs to."""
    scale: float = 0
    """Where on that curve: how large the input is, in the curve's own unit."""
    skipped: str = ""
    """Why there is no figure."""

    def median(self, side: str) -> float | None:
        """Nanoseconds an operation."""
        return median(self.times[side]) if self.times.get(side) else None

    def ratio(self, side: str, *, ours: str = OURS) -> float | None:
        """How many times as fast as that side we are, by medians."""
        our, their = self.median(ours), self.median(side)
        return their / our if our and their else None


@dataclass
class Run:
    """One pass of a program that measures."""

    program: str
    rows: list[Row] = field(default_factory=list)
    conditions: dict[str, Any] = field(default_factory=dict)
    """The machine, versions, date, commit, load: see `conditions`."""


def conditions() -> dict[str, Any]:
    """Return what figures depend on."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "commit": _commit(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
        **{name: version(name) for name in LIBRARIES},
    }


def write_runs(path: Path, runs: list[Run]) -> None:
    """Write runs as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n")


def read_runs(path: Path) -> list[Run]:
    """Read what `write_runs` wrote. Raises ValueError for any other file, and OSError."""
    try:
        return [Run(**(run | {"rows": [Row(**row) for row in run["rows"]]})) for run in json.loads(path.read_text())]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a result of bench: {error!r}") from error


def _commit() -> str:
    """Return the short id of what is checked out, marked where files differ from it."""
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "unknown"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
