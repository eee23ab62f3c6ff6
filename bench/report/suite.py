"""What pytest-benchmark measured, and the figures that benchmarks put beside their times."""

from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from bench.results import Row, Run

PROGRAM: Final = "pytest bench"
COUNTED: Final = ("answers", "calls", "partition changes", "records")
"""What one round does, by the name of the figure that counts it: their rate is a figure too."""

SHORT_ID: Final = 7
"""Digits of a commit's id, as git shortens it."""


@dataclass(frozen=True)
class Benchmark:
    """One benchmark of a suite."""

    name: str
    """As pytest names it: file, function, parameters."""
    seconds: float
    """Median of its rounds."""
    spread: float
    """Seconds between the first and the third quarter of them."""
    rounds: int
    figures: dict[str, float]
    """What it put beside its time, and `seconds`."""

    @property
    def group(self) -> str:
        """The file that it is in."""
        return self.name.partition("::")[0]


def benchmarks(document: dict[str, Any]) -> list[Benchmark]:
    """Read what `pytest --benchmark-json` wrote."""
    return [_benchmark(each["fullname"], each["stats"], each["extra_info"]) for each in document["benchmarks"]]


def conditions_and_skipped(document: dict[str, Any]) -> Run:
    """Read when, where and of which commit suites were measured, and what was skipped: bench/conftest.py."""
    conditions: dict[str, Any] = {}
    if "datetime" in document:
        conditions["date"] = document["datetime"].partition("T")[0]
    if commit := document.get("commit_info", {}).get("id"):
        conditions["commit"] = f"{commit[:SHORT_ID]}{'-dirty' if document['commit_info'].get('dirty') else ''}"
    conditions |= _machine(document.get("machine_info", {}))
    rows = [Row(name, skipped=reason) for name, reason in document.get("skipped", {}).items()]
    return Run(PROGRAM, rows, conditions)


def _machine(info: dict[str, Any]) -> dict[str, Any]:
    """What pytest-benchmark tells of the machine, by the names of `bench.results.conditions`."""
    cpu = info.get("cpu", {})
    told = {
        "processor": cpu.get("brand_raw"),
        "cores": cpu.get("count"),
        "system": f"{info['system']} {info['release']}" if {"system", "release"} <= info.keys() else None,
        "python": info.get("python_version"),
    }
    return {name: value for name, value in told.items() if value}


def _benchmark(name: str, stats: dict[str, Any], extra: dict[str, Any]) -> Benchmark:
    seconds = float(stats["median"])
    figures = {"seconds": seconds}
    for key, value in extra.items():
        numbers = value if isinstance(value, list) else [value]
        if numbers and all(isinstance(number, int | float) for number in numbers):
            figures[key] = float(median(numbers))
    figures |= {f"{key}/s": figures[key] / seconds for key in COUNTED if key in figures and seconds}
    return Benchmark(name, seconds, float(stats["iqr"]), int(stats["rounds"]), figures)
