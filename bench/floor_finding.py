"""What became of a floor, or of what has none."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

MORE_TRIES: Final = 2
"""So often a floor that is missed is measured again before it counts: other work makes figures worse, never better."""


@dataclass(frozen=True)
class Finding:
    """What became of a floor or of a row."""

    name: str
    told: str
    fails: bool = True
    is_measured: bool = True

    def __str__(self) -> str:
        mark = "FAILED" if self.fails else "ok" if self.is_measured else "-"
        return f"{mark:<6} {self.name}: {self.told}"


def tried(measured: list[float], holds: Callable[[float], bool], again: Callable[[], Iterable[float]]) -> list[float]:
    """Return what was measured, with what further measurements found until one holds."""
    for _ in range(MORE_TRIES):
        if any(map(holds, measured)):
            break
        measured = [*measured, *again()]
    return measured
