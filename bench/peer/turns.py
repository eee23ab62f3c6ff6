"""Work that several sides do in turn, and the check that all of them found the same."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeVar

from bench.results import Row

Clock = Literal["wall", "processor"]
CLOCKS: Final[dict[Clock, Callable[[], int]]] = {"wall": time.perf_counter_ns, "processor": time.thread_time_ns}
"""Processor time is that of the thread alone: what there is to go by on a machine that others use too."""

LEAST_WARM_UP: Final = 2
"""Rounds, if there is a warm-up."""
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
    warm_up: float = 5
    """Seconds of rounds before those that count: a JVM compiles late what a round does seldom."""
    calls: int = 65_536
    """Operations of a round where each takes some microseconds at most."""
    clock: Clock = "wall"

    def time(self, call: Callable[[], Found]) -> tuple[int, Found]:
        """Call once: nanoseconds, and what came back."""
        now = CLOCKS[self.clock]
        start = now()
        found = call()
        return now() - start, found


def take_turns(row: Row, sides: Mapping[str, Callable[[], Timed]], settings: Settings) -> Row:
    """Measure round by round, each side first in turn. Raises DifferentAnswersError."""
    if settings.warm_up:
        _warm_up(_rounds(row.name, sides), settings.warm_up)
    for found in islice(_rounds(row.name, sides), settings.rounds):
        for name, timed in found.items():
            row.times.setdefault(name, []).append(timed.nanoseconds)
    return row


def _rounds(work: str, sides: Mapping[str, Callable[[], Timed]]) -> Iterator[dict[str, Timed]]:
    """Run the work on all sides, round after round."""
    order = list(sides.items())
    for number in count():
        found = {name: measure() for name, measure in order[:: 1 if number % 2 else -1]}
        agree(work, {name: found[name].answer for name in sides})
        yield found


def _warm_up(rounds: Iterator[dict[str, Timed]], seconds: float) -> None:
    end = time.monotonic() + seconds
    for number, _ in enumerate(rounds, start=1):
        if number >= LEAST_WARM_UP and time.monotonic() >= end:
            return


def agree(work: str, answers: Mapping[str, int | None]) -> None:
    """See that whoever found something found the same. Raises DifferentAnswersError."""
    given = {side: answer for side, answer in answers.items() if answer is not None}
    if len(set(given.values())) > 1:
        raise DifferentAnswersError(work, given)
