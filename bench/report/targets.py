"""What is aimed at, and whether it is reached: bench/targets.toml has the list."""

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from bench.report.evidence import RUNS_THAT_COUNT, Evidence
from bench.results import BARE_WRITE, KAFKA, OURS, ROOT

TARGETS: Final = ROOT / "bench/targets.toml"


class Verdict(StrEnum):
    """Whether a target is reached."""

    REACHED = "reached"
    MISSED = "missed"
    OPEN = "open"
    """Too few runs, or none."""


@dataclass(frozen=True)
class Target:
    """An aim, of one of three kinds, and why it is missed where it is."""

    row: str = ""
    """The kind of work that is compared,"""
    beside: str = ""
    """with this side: times as fast for `at_least`, parts of its time for `at_most`;"""
    of_limit: str = ""
    """or with this limit of the machine: the part of its throughput."""
    benchmark: str = ""
    """Or else a benchmark of the suites,"""
    figure: str = ""
    """and one of its figures, in that figure's own unit."""
    at_least: float | None = None
    at_most: float | None = None
    reason: str = ""
    """Why it is missed, and what was tried."""

    def __post_init__(self) -> None:
        kinds = [bool(self.row and self.beside), bool(self.row and self.of_limit), bool(self.benchmark and self.figure)]
        if kinds.count(True) != 1 or (self.at_least is None) == (self.at_most is None):
            raise ValueError(
                f"{self}: a target has a row with `beside` or `of_limit`, or a benchmark with a `figure`, "
                "and either `at_least` or `at_most`"
            )

    @property
    def what(self) -> str:
        """What is aimed at."""
        return self.row or f"`{self.benchmark}`"

    @property
    def is_of_python(self) -> bool:
        """Whether it is beside another store or client of Python programs."""
        return bool(self.beside) and self.beside not in {KAFKA, BARE_WRITE}

    @property
    def aim(self) -> float:
        """The figure to reach."""
        return self.at_least if self.at_least is not None else self.at_most or 0

    @property
    def is_ratio(self) -> bool:
        """Whether it counts only if it holds in several runs."""
        return bool(self.row)

    def holds(self, value: float) -> bool:
        """Whether a figure reaches it."""
        return value >= self.aim if self.at_least is not None else value <= self.aim


@dataclass(frozen=True)
class Judgement:
    """A target, and the figures measured for it: one for each run, in the target's own terms."""

    target: Target
    values: list[float]
    skipped: str = ""

    @property
    def worst(self) -> float:
        """The figure that decides."""
        return min(self.values) if self.target.at_least is not None else max(self.values)

    @property
    def verdict(self) -> Verdict:
        """A target that any run misses is missed; one that too few runs reach is open."""
        if not self.values:
            return Verdict.OPEN
        if not self.target.holds(self.worst):
            return Verdict.MISSED
        enough = len(self.values) >= RUNS_THAT_COUNT or not self.target.is_ratio
        return Verdict.REACHED if enough else Verdict.OPEN


def read_targets(path: Path = TARGETS, table: str = "target") -> list[Target]:
    """Read the list in a file's tables of one name. Raises ValueError with the entry that is wrong."""
    entries: list[dict[str, Any]] = tomllib.loads(path.read_text()).get(table, [])
    return [_target(path, entry) for entry in entries]


def _target(path: Path, entry: dict[str, Any]) -> Target:
    try:
        return Target(**entry)
    except TypeError as error:
        raise ValueError(f"{path}: {entry}: {error}") from error


def judge(target: Target, evidence: Evidence) -> Judgement:
    """Hold a target against what was measured."""
    named = evidence.named(target.row or target.benchmark)
    skipped = next((row.skipped for row in named if row.skipped), "")
    return Judgement(target, _values(target, evidence), skipped)


def _values(target: Target, evidence: Evidence) -> list[float]:
    if target.benchmark:
        found = [each.figures for each in evidence.benchmarks if each.name == target.benchmark]
        return [figures[target.figure] for figures in found if target.figure in figures]
    if target.of_limit:
        limit = evidence.limit(target.of_limit)
        taken = [(row.bytes, row.median(OURS)) for row in evidence.named(target.row)]
        return [size / spent / limit for size, spent in taken if spent and limit]
    comparison = evidence.comparison(target.row, target.beside)
    ratios = comparison.ratios if comparison else []
    return ratios if target.at_least is not None else [1 / ratio for ratio in ratios]
