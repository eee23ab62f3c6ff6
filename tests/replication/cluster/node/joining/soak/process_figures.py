"""What a process takes of its machine, once a second, and whether that stays the same."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from tests.replication.cluster.node.joining.chaos.thread import ChaosThread

_GROWN: Final = 1.05
"""Of what there was; what leaks with requests or records grows by more within the shortest run."""
_SOME: Final = 8
"""Threads and descriptors that connections may come and go with: each has one of both."""


class Figures(NamedTuple):
    """Of a process, at one time."""

    memory: int
    """KiB of its own: without what is mapped from files, which the system takes back where it needs room."""
    resident: int
    """KiB, those of files too."""
    descriptors: int
    threads: int


def figures_of(pid: int) -> Figures:
    """Read them from /proc. Raises OSError where the process has ended."""
    process = Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    memory, resident = (int(status[name].split()[0]) for name in ("RssAnon", "VmRSS"))
    return Figures(memory, resident, len(list((process / "fd").iterdir())), int(status["Threads"]))


@dataclass
class Watched(ChaosThread):
    """Looks at a process once a second."""

    pid: int
    figures: list[Figures] = field(default_factory=list)

    def _run(self) -> None:
        while not self._stopped.wait(1):
            self.figures.append(figures_of(self.pid))


def quarters(figures: Sequence[Figures]) -> tuple[Figures, Figures]:
    """Return the medians of the second quarter and of the last: in the first one all warms up."""
    quarter = len(figures) // 4
    second, last = figures[quarter : 2 * quarter], figures[-quarter:]
    return _medians(second), _medians(last)


def ensure_flat(figures: Sequence[Figures]) -> None:
    """Check that nothing has grown from the second quarter to the last. Raises AssertionError."""
    before, after = quarters(figures)
    assert after.memory <= before.memory * _GROWN, f"memory grows: {before}, then {after}"
    assert after.descriptors <= before.descriptors + _SOME, f"descriptors are left open: {before}, then {after}"
    assert after.threads <= before.threads + _SOME, f"threads are left: {before}, then {after}"


def _medians(figures: Sequence[Figures]) -> Figures:
    return Figures(*(round(median(column)) for column in zip(*figures, strict=True)))
