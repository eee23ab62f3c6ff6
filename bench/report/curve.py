"""How the cost of a unit changes as the work grows."""

import tomllib
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from bench.report.evidence import Evidence
from bench.report.targets import TARGETS
from bench.results import OURS, Row
from bench.scaling.__main__ import all_curves

FLAT: Final = 1.25
"""How many times as much a unit may cost before its cost counts as rising: so much do runs differ."""
MIB: Final = 1 << 20
GIB: Final = 1 << 30


class Point(NamedTuple):
    """One size of the work."""

    scale: float
    """How large, in the curve's own unit."""
    cost: float
    """Nanoseconds of a unit."""
    units: float
    """How many there are in all of it."""
    memory: float
    """Bytes that are held for a unit of the scale; 0 where nobody looked."""

    @property
    def total(self) -> float:
        """Nanoseconds of all of it."""
        return self.cost * self.units


@dataclass(frozen=True)
class Curve:
    """One kind of work at several sizes."""

    name: str
    unit: str
    """What the costs are of: GiB, calls, or what the rows say."""
    points: tuple[Point, ...]
    """From the smallest size to the largest, at least two."""
    reason: str = ""
    """Why the cost of a unit rises, where it does."""

    @property
    def rise(self) -> float:
        """How many times as much a unit costs as at some smaller size, at worst."""
        costs = [point.cost for point in self.points]
        return max(cost / least for cost, least in zip(costs[1:], accumulate(costs, min), strict=False))

    @property
    def in_bytes(self) -> bool:
        """Whether the scale counts bytes."""
        return self.unit == "GiB" and self.points[-1].scale >= MIB

    @property
    def grows(self) -> bool:
        """Whether there is more to do at each larger size, not only more to look through."""
        return all(larger.units > smaller.units for smaller, larger in pairwise(self.points))

    @property
    def is_flat(self) -> bool:
        """Whether the cost of a unit stays the same or falls."""
        return self.rise <= FLAT


def curves(evidence: Evidence, reasons: dict[str, str]) -> list[Curve]:
    """Put the rows of each curve together, with the reason given for its rise."""
    grown = [row for row in evidence.rows if row.group and row.scale and row.median(OURS)]
    found = []
    for group in dict.fromkeys(row.group for row in grown):
        rows = [row for row in grown if row.group == group]
        scales = sorted({row.scale for row in rows})
        if len(scales) > 1:
            points = tuple(_point(scale, [row for row in rows if row.scale == scale]) for scale in scales)
            found.append(Curve(group, _unit(rows[0]), points, reasons.get(group, "")))
    return found


def unmeasured(evidence: Evidence) -> list[str]:
    """Name the curves of which no result has a point, not even one that was skipped."""
    groups = {row.group for row in evidence.rows}
    return [curve.name for curve in all_curves(quick=False) if curve.name not in groups]


def read_reasons(path: Path = TARGETS) -> dict[str, str]:
    """Read why costs rise, by curve."""
    return {each["name"]: each["reason"] for each in tomllib.loads(path.read_text()).get("curve", [])}


def _point(scale: float, rows: list[Row]) -> Point:
    """Of several runs: the median."""
    total = median(taken for row in rows if (taken := row.median(OURS)))
    units = _units(rows[0])
    return Point(scale, total / units, units, median(row.memory for row in rows) / scale)


def _units(row: Row) -> float:
    return row.items or row.bytes / GIB or 1


def _unit(row: Row) -> str:
    return row.unit or "items" if row.items else "GiB" if row.bytes else "calls"
