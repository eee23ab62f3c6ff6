"""What pytest-benchmark measured, and the figures that benchmarks put beside their times."""

from dataclasses import dataclass
from statistics import median
from typing import Any, Final

COUNTED: Final = ("answers", "calls", "partition changes", "records")
"""What one round does, by the name of the figure that counts it: their rate is a figure too."""


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


def _benchmark(name: str, stats: dict[str, Any], extra: dict[str, Any]) -> Benchmark:
    seconds = float(stats["median"])
    figures = {"seconds": seconds}
    for key, value in extra.items():
        numbers = value if isinstance(value, list) else [value]
        if numbers and all(isinstance(number, int | float) for number in numbers):
            figures[key] = float(median(numbers))
    figures |= {f"{key}/s": figures[key] / seconds for key in COUNTED if key in figures and seconds}
    return Benchmark(name, seconds, float(stats["iqr"]), int(stats["rounds"]), figures)
