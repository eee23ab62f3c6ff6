"""The page that the report goes into: what stands between a part's marks is replaced, the rest is written by hand.

It has three parts, each with its own date and commit: what the programs measured, apart from that what they measured
beside other stores and clients of Python programs, and what the suites did.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from bench.report import tables
from bench.report.curve import Curve, unmeasured
from bench.report.evidence import Evidence
from bench.report.targets import Target, judge


@dataclass(frozen=True)
class Part:
    """A measured part of the page, by the name in its marks."""

    name: str

    @property
    def begin(self) -> str:
        """The mark before it."""
        return f"<!-- {self.name}: begin -->"

    @property
    def end(self) -> str:
        """The mark behind it."""
        return f"<!-- {self.name}: end -->"


PROGRAMS: Final = Part("figures")
PYTHON: Final = Part("stores")
SUITES: Final = Part("suites")


def of_programs(evidence: Evidence, targets: list[Target], curves: list[Curve], pictures: dict[str, str]) -> str:
    """Write what the programs measured; `pictures` names the file of each, as the page sees it."""
    lines = tables.machine(evidence) + tables.without_kafka(evidence) + tables.limits(evidence)
    for side in evidence.sides:
        lines += tables.beside(evidence, side, targets) + _picture(pictures, side)
    lines += tables.alone(evidence) + tables.growth(curves)
    for name in ("cost of a unit", "time of all"):
        lines += _picture(pictures, name)
    lines += tables.aims([judge(target, evidence) for target in targets])
    lines += tables.skipped(evidence, unmeasured(evidence))
    return "\n".join(lines).strip()


def of_python(evidence: Evidence, targets: list[Target]) -> str:
    """Write what was measured beside other stores and clients."""
    lines = tables.machine(evidence)
    for side in evidence.sides:
        lines += tables.beside(evidence, side, targets)
    lines += tables.aims([judge(target, evidence) for target in targets]) + tables.skipped(evidence)
    return "\n".join(lines).strip()


def of_suites(evidence: Evidence, targets: list[Target]) -> str:
    """Write what the suites measured."""
    lines = tables.machine(evidence) + tables.aims([judge(target, evidence) for target in targets])
    lines += tables.skipped(evidence) + tables.suites(evidence)
    return "\n".join(lines).strip()


def _picture(pictures: dict[str, str], name: str) -> list[str]:
    return [f"![{name}]({pictures[name]})", ""] if name in pictures else []


@dataclass(frozen=True)
class Page:
    """The whole page."""

    text: str

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a page. Raises ValueError where a part's marks are missing."""
        page = cls(path.read_text())
        for part in (PROGRAMS, PYTHON, SUITES):
            _, begin, rest = page.text.partition(part.begin)
            if not (begin and part.end in rest):
                raise ValueError(f"{path}: `{part.begin}` and `{part.end}` must stand around the measured part")
        return page

    def having(self, part: Part, written: str) -> Self:
        """The page with another content of a part."""
        before, _, rest = self.text.partition(part.begin)
        _, _, after = rest.partition(part.end)
        return type(self)(f"{before}{part.begin}\n\n{written}\n\n{part.end}{after}")
