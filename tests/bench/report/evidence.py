"""Results made by hand, with figures that are easy to tell apart."""

from bench.limits import GROUP as LIMITS
from bench.limits import MACHINE
from bench.report.evidence import Evidence
from bench.report.suite import Benchmark
from bench.results import KAFKA, OURS, Row, Run

APPEND = "append as follower"
RECOVER = "recover after a crash"
CONDITIONS = {
    "date": "2026-01-02 03:04",
    "commit": "abc1234",
    "processor": "Some CPU",
    "cores": 2,
    "memory_gib": 23,
    "load": 0.1,
    "python": "3.11.7",
}


def beside(name: str, ratio: float, side: str = KAFKA, **more: object) -> Row:
    """We take 100 ns; the other side so many times as long."""
    return Row(name, times={OURS: [100.0, 90.0, 110.0], side: [100.0 * ratio] * 3}, **more)  # type: ignore[arg-type]


def runs(name: str, *ratios: float, side: str = KAFKA) -> Evidence:
    """One run for each ratio."""
    return Evidence([Run("bench.peer", [beside(name, ratio, side)], dict(CONDITIONS)) for ratio in ratios])


def limit(name: str, bytes_a_nanosecond: float) -> Run:
    """A limit of the machine."""
    row = Row(name, times={MACHINE: [2000.0, 1000.0]}, bytes=int(1000 * bytes_a_nanosecond), group=LIMITS)
    return Run("bench.limits", [row])


def curve(name: str, *costs: float, unit: str = "entries") -> Run:
    """Ten times as much work from point to point; a unit costs as many nanoseconds as said."""
    sizes = [(10**place, cost) for place, cost in enumerate(costs, start=1)]
    rows = [
        Row(f"{name} {size}", times={OURS: [cost * size]}, items=size, unit=unit, group=name, scale=size)
        for size, cost in sizes
    ]
    return Run("bench.scaling", rows)


def benchmark(name: str, **figures: float) -> Benchmark:
    """One of a suite."""
    return Benchmark(name, 0.002, 0.0001, 7, {"seconds": 0.002, **figures})
