"""How figures are written: three digits, in the unit that suits them."""

from collections.abc import Callable, Sequence
from typing import Final

from bench.results import Row

DURATIONS: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))
MULTIPLES: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))
BINARY: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes"))
SMALL_OPERATION: Final = 4 << 20
"""Bytes up to which the time of one operation says more than throughput."""


def digits(value: float) -> str:
    """Three significant digits at least for what has them, never in scientific notation."""
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.3g}"


def exactly(value: float) -> str:
    """A figure as it was given, without needless zeros."""
    return f"{value:,.3f}".rstrip("0").rstrip(".")


def short(value: float) -> str:
    """A round figure beside an axis."""
    scaled, prefix = _in_largest(value, MULTIPLES)
    return f"{exactly(scaled)}{prefix}"


def size(value: float) -> str:
    """So many bytes."""
    scaled, unit = _in_largest(value, BINARY)
    return f"{digits(scaled)} {unit}"


def duration(nanoseconds: float) -> str:
    """A time, in the largest unit that it reaches."""
    scaled, unit = _in_largest(nanoseconds, DURATIONS)
    return f"{digits(scaled)} {unit}"


def round_duration(nanoseconds: float) -> str:
    """A round time beside an axis."""
    scaled, unit = _in_largest(nanoseconds, DURATIONS)
    return f"{exactly(scaled)} {unit}"


def rate(a_second: float, unit: str) -> str:
    """So many of something a second."""
    step, prefix = next((each for each in MULTIPLES if a_second >= each[0]), MULTIPLES[-1])
    return f"{digits(a_second / step)} {prefix} {unit}/s".replace("  ", " ")


def ratio(value: float) -> str:
    """How many times as fast."""
    return f"{value:.2f}" if value < 9.995 else digits(value)


def share(value: float) -> str:
    """A part, in percent."""
    return f"{100 * value:.0f} %"


def speed(row: Row, nanoseconds: float | None) -> str:
    """What an operation of a row takes, or what is done in a second where that says more; nothing for None."""
    if nanoseconds is None:
        return ""
    if row.bytes > SMALL_OPERATION:
        return f"{row.bytes / nanoseconds:.2f} GB/s"
    if row.items > 1:
        return rate(row.items / nanoseconds * 1e9, row.unit or "items")
    return duration(nanoseconds)


def spread(values: list[float], written: Callable[[float], str] = ratio) -> str:
    """From the smallest to the largest."""
    least, most = written(min(values)), written(max(values))
    return least if least == most else f"{least} to {most}"


def _in_largest(value: float, units: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """Return a value in the largest unit that it reaches."""
    step, unit = next((each for each in units if value >= each[0]), units[-1])
    return value / step, unit
