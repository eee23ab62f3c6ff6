"""Work that several sides do in turn, and the check that all of them found the same."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, NamedTuple, Self, TypeVar

from bench.results import Row

Clock = Literal["wall", "processor"]
CLOCKS: Final[dict[Clock, Callable[[], int]]] = {"wall": time.perf_counter_ns, "processor": time.thread_time_ns}
"""Processor time is that of the thread alone: what there is to go by on a machine that others use too."""

Found = TypeVar("Found")


class Timed(NamedTuple):
    """What a side took, and what it found."""

    nanoseconds: float
    """Of one operation."""
    answer: int | None = None
    """A number that all sides must agree on; None from one that finds nothing."""


class DifferentAnswersError(AssertionError):
    """Two sides did not do the same work: their times say nothing."""

    def __init__(self, work: str, answers: Mapping[str, int]) -> None:
        told = ", ".join(f"{side} {answer:,}" for side, answer in answers.items())
        super().__init__(f"{work}: {told}; all sides must find the same")


@dataclass(frozen=True)
class Settings:
    """What one pass over all work is told."""

    work: Path
    """An empty directory for files."""
    size: int
    """Bytes of each log."""
    rounds: int
    warm_up: int = 2
    """Rounds before those that count."""
    calls: int = 65_536
    """Operations of a round where each takes some microseconds at most."""
    clock: Clock = "wall"

    def warmer(self, times: int) -> Self:
        """So many times as many rounds come before those that count: Java compiles late what is called seldom."""
        return replace(self, warm_up=times * self.warm_up)

    def time(self, call: Callable[[], Found]) -> tuple[int, Found]:
        """Call once: nanoseconds, and what came back."""
        now = CLOCKS[self.clock]
        start = now()
        found = call()
        return now() - start, found


def take_turns(row: Row, sides: Mapping[str, Callable[[], Timed]], settings: Settings) -> Row:
    """Measure round by round, each side first in turn. Raises DifferentAnswersError."""
    order = list(sides.items())
    for number in range(settings.warm_up + settings.rounds):
        found = {name: measure() for name, measure in order[:: 1 if number % 2 else -1]}
        agree(row.name, {name: found[name].answer for name in sides})
        for name, timed in found.items() if number >= settings.warm_up else ():
            row.times.setdefault(name, []).append(timed.nanoseconds)
    return row


def agree(work: str, answers: Mapping[str, int | None]) -> None:
    """See that whoever found something found the same. Raises DifferentAnswersError."""
    given = {side: answer for side, answer in answers.items() if answer is not None}
    if len(set(given.values())) > 1:
        raise DifferentAnswersError(work, given)
