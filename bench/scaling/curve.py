"""A kind of work that is measured at several sizes."""

import gc
import os
import shutil
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, NamedTuple

from bench.results import OURS, Row
from bench.room import BUILD, lacking
from logstore.warming.warm import warm

WORK: Final = BUILD / f"scaling-{os.getpid()}"
"""Several may measure at once, however little their figures are worth then."""
ROUNDS: Final = 5
CLOCKS: Final = {"wall": time.perf_counter_ns, "processor": time.process_time_ns}


class Sample(NamedTuple):
    """One size of the work, made ready."""

    call: Callable[[], object]
    """What is measured."""
    items: float = 0
    """What an operation works on, in the curve's unit."""
    bytes: int = 0
    """The same where throughput is what matters."""
    before: Callable[[], object] = lambda: None
    """What every call needs to be done before it, outside of the time."""


@dataclass(frozen=True)
class Curve:
    """What is done, and how large it is each time.

    `make` is a generator: given the scale it makes a sample ready, yields it, and tidies up.
    """

    name: str
    scales: tuple[int, ...]
    """From small to large."""
    quick: tuple[int, ...]
    """A few small sizes that say nothing about the cost, for trying."""
    make: Callable[[int], Iterator[Sample]]
    unit: str = ""
    """What an item is."""
    disk: Callable[[int], int] = lambda _: 0
    """Bytes below build/bench that a scale needs."""
    memory: Callable[[int], int] = lambda _: 0
    """Bytes of memory that it needs, the page cache included."""
    missing: Callable[[], str] = lambda: ""
    """Returns what else it needs that is not there."""
    weighed: Callable[[int], AbstractContextManager[object]] | None = None
    """Builds what is held in memory at a scale, for how many bytes that is; all that is made for it is there still."""
    rounds: int = ROUNDS

    def measure(self, scale: int, rounds: int | None = None, clock: str = "wall") -> Row:
        """Measure one size: a first call warms up. Where there is no room for it, or no Java, the row says so."""
        row = Row(f"{self.name}, {scale:,}", unit=self.unit, group=self.name, scale=scale)
        row.skipped = self.missing() or lacking(disk=self.disk(scale), memory=self.memory(scale))
        if row.skipped:
            return row
        shutil.rmtree(WORK, ignore_errors=True)
        WORK.mkdir(parents=True)
        try:
            for sample in self.make(scale):
                row.items, row.bytes = sample.items, sample.bytes
                row.times[OURS] = [timed(sample, CLOCKS[clock]) for _ in range(1 + (rounds or self.rounds))][1:]
            if self.weighed is not None:
                row.memory = weigh(self.weighed, scale)
        finally:
            shutil.rmtree(WORK)
        return row


def remove_left_over() -> None:
    """Remove what measurements that were killed have left: it may be gigabytes."""
    for directory in BUILD.glob("scaling-*"):
        try:
            os.kill(int(directory.name.split("-")[1]), 0)
        except ProcessLookupError:
            shutil.rmtree(directory)


def timed(sample: Sample, now: Callable[[], int]) -> int:
    """Nanoseconds of one call. As in a program that runs for long, no garbage of earlier work is in its way."""
    sample.before()
    gc.collect()
    gc.freeze()
    try:
        start = now()
        sample.call()
        return now() - start
    finally:
        gc.unfreeze()


def weigh(build: Callable[[int], AbstractContextManager[object]], scale: int) -> int:
    """Bytes that Python holds for what is built, beyond what it holds anyway."""
    warm()  # else the kernels count where the first of them is needed
    with build(1):
        pass
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    with build(scale):
        gc.collect()
        used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return used
