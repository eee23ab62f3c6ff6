"""The page that the report goes into: what stands between two marks is replaced, the rest is written by hand."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from bench.report import tables
from bench.report.curve import Curve
from bench.report.evidence import Evidence
from bench.report.targets import Target, judge

BEGIN: Final = "<!-- figures: begin -->"
END: Final = "<!-- figures: end -->"


def measured(evidence: Evidence, targets: list[Target], curves: list[Curve], pictures: dict[str, str]) -> str:
    """Write the measured part; `pictures` names the file of each, as the page sees it."""
    lines = tables.machine(evidence) + tables.limits(evidence)
    for side in evidence.sides:
        lines += tables.beside(evidence, side, targets) + _picture(pictures, side)
    lines += tables.alone(evidence) + tables.growth(curves)
    for name in ("cost of a unit", "time of all"):
        lines += _picture(pictures, name)
    lines += tables.aims([judge(target, evidence) for target in targets])
    lines += tables.skipped(evidence) + tables.suites(evidence)
    return "\n".join(lines).strip()


def _picture(pictures: dict[str, str], name: str) -> list[str]:
    return [f"![{name}]({pictures[name]})", ""] if name in pictures else []


@dataclass(frozen=True)
class Page:
    """What stands before and after the measured part."""

    before: str
    after: str

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a page. Raises ValueError where a mark is missing."""
        before, begin, rest = path.read_text().partition(BEGIN)
        _, end, after = rest.partition(END)
        if not (begin and end):
            raise ValueError(f"{path}: `{BEGIN}` and `{END}` must stand around the measured part")
        return cls(before, after)

    def around(self, part: str) -> str:
        """The page with another measured part."""
        return f"{self.before}{BEGIN}\n\n{part}\n\n{END}{self.after}"
