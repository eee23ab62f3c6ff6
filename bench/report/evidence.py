"""All that was measured, put together: runs of several programs, and the suites."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, Final, Self

from bench.limits import GROUP as LIMITS
from bench.limits import fastest
from bench.report.suite import PROGRAM as SUITES
from bench.report.suite import Benchmark, benchmarks, conditions_and_skipped
from bench.results import OURS, Row, Run, read_runs

OF_PYTHON: Final = frozenset({"clients", "stores"})
"""The groups of rows beside what Python programs would use instead: they are measured in minutes, without a JVM."""
RUNS_THAT_COUNT: Final = 3
"""In fewer runs a ratio may be luck."""


@dataclass(frozen=True)
class Comparison:
    """One kind of work beside another side, in as many runs as have both."""

    side: str
    rows: tuple[Row, ...]
    """One for each run."""

    @property
    def name(self) -> str:
        """What was done."""
        return self.rows[0].name

    @property
    def ratios(self) -> list[float]:
        """How many times as fast as that side we were, in each run."""
        return [ratio for row in self.rows if (ratio := row.ratio(self.side)) is not None]

    def nanoseconds(self, side: str) -> float:
        """What an operation took: the median of the runs' medians."""
        return median(taken for row in self.rows if (taken := row.median(side)) is not None)


@dataclass
class Evidence:
    """What result files say."""

    runs: list[Run] = field(default_factory=list)
    benchmarks: list[Benchmark] = field(default_factory=list)

    def add(self, path: Path) -> None:
        """Add a result file of either kind. Raises ValueError for any other, and OSError."""
        try:
            document = json.loads(path.read_text())
            if isinstance(document, dict):
                self._take(benchmarks(document))
                self.runs.append(conditions_and_skipped(document))
                return
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: not a result of bench or of pytest-benchmark: {error!r}") from error
        self.runs += read_runs(path)

    def _take(self, measured: list[Benchmark]) -> None:
        """Add benchmarks; one that was measured before counts as it was measured last."""
        anew = {each.name: each for each in measured}
        known = {each.name for each in self.benchmarks}
        self.benchmarks = [anew.get(each.name, each) for each in self.benchmarks]
        self.benchmarks += [each for each in measured if each.name not in known]

    @property
    def of_suites(self) -> Self:
        """What pytest-benchmark measured, alone."""
        return type(self)([run for run in self.runs if run.program == SUITES], self.benchmarks)

    @property
    def of_programs(self) -> Self:
        """What the other programs measured, alone."""
        return type(self)([run for run in self.runs if run.program != SUITES])

    @property
    def of_python(self) -> Self:
        """Of these, what was measured beside other stores and clients of Python programs."""
        return self._rows_that(lambda row: row.group in OF_PYTHON)

    @property
    def of_kafka(self) -> Self:
        """Of these, all the rest."""
        return self._rows_that(lambda row: row.group not in OF_PYTHON)

    def _rows_that(self, wanted: Callable[[Row], bool]) -> Self:
        """Runs of such rows, where there are any."""
        parts = [replace(run, rows=list(filter(wanted, run.rows))) for run in self.of_programs.runs]
        return type(self)([run for run in parts if run.rows])

    @property
    def rows(self) -> list[Row]:
        """Of all runs."""
        return [row for run in self.runs for row in run.rows]

    def named(self, name: str) -> list[Row]:
        """The rows of that name, one for each run that has it."""
        return [row for row in self.rows if row.name == name]

    @property
    def sides(self) -> list[str]:
        """Whom we were measured beside, in the order in which they come."""
        return list(
            dict.fromkeys(side for row in self.rows for side in row.times if OURS in row.times and side != OURS)
        )

    def comparison(self, name: str, side: str) -> Comparison | None:
        """One kind of work beside a side; None where no run has both."""
        rows = tuple(row for row in self.named(name) if row.ratio(side) is not None)
        return Comparison(side, rows) if rows else None

    def comparisons(self, side: str) -> list[Comparison]:
        """All work that this side did too."""
        names = dict.fromkeys(row.name for row in self.rows)
        return [found for name in names if (found := self.comparison(name, side)) is not None]

    @property
    def limits(self) -> list[Row]:
        """What the machine can do."""
        return [row for row in self.rows if row.group == LIMITS]

    def limit(self, name: str) -> float | None:
        """Bytes a nanosecond that the machine can do."""
        rates = [row.bytes / taken for row in self.limits if row.name == name and (taken := fastest(row))]
        return max(rates, default=None)

    @property
    def skipped(self) -> list[Row]:
        """What was not measured, each with its reason."""
        return list({row.name: row for row in self.rows if row.skipped}.values())

    @property
    def conditions(self) -> dict[str, list[Any]]:
        """What figures depend on, each with all values that it had."""
        found: dict[str, list[Any]] = {}
        for run in self.runs:
            for key, value in run.conditions.items():
                if value not in found.setdefault(key, []):
                    found[key].append(value)
        return found


def gather(paths: Iterable[Path]) -> Evidence:
    """Read result files."""
    evidence = Evidence()
    for path in paths:
        evidence.add(path)
    return evidence
