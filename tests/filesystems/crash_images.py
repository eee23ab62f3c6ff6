"""What the loss of power may leave on a block device, at every point of a recording.

All that was written before the last flush is there. Of each write since, the device may have all, nothing, or any of
its sectors, whatever it has of the others.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.filesystems.recording import Entry, Flush, Mark, Write

SECTOR = 512
"""Bytes that no device tears."""
RANDOM_CHOICES = 3


@dataclass(frozen=True, slots=True)
class All:
    """Nothing is lost."""

    def keep(self, writes: Sequence[Write]) -> Iterable[Write]:
        return writes


@dataclass(frozen=True, slots=True)
class Nothing:
    """All is lost that was not flushed."""

    def keep(self, _: Sequence[Write]) -> Iterable[Write]:
        return ()


@dataclass(frozen=True, slots=True)
class Without:
    """One write is lost, and those around it are not."""

    number: int

    def keep(self, writes: Sequence[Write]) -> Iterable[Write]:
        return (write for number, write in enumerate(writes) if number != self.number)


@dataclass(frozen=True, slots=True)
class Some:
    """Of each write all is kept, nothing, or some sectors."""

    seed: str
    sector: int = SECTOR

    def keep(self, writes: Sequence[Write]) -> Iterator[Write]:
        rng = random.Random(self.seed)
        for write in writes:
            kept = rng.choice([0.0, 0.5, 1.0])
            end = write.offset + len(write.data)
            first = write.offset // self.sector * self.sector + self.sector
            for piece, after in pairwise([write.offset, *range(first, end, self.sector), end]):
                if rng.random() < kept:
                    yield Write(piece, write.data[piece - write.offset : after - write.offset])


Choice = All | Nothing | Without | Some


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """A crash: after so many entries, when the last mark was this one, and with this choice of what was not flushed."""

    position: int
    mark: int
    choice: Choice
    is_flush: bool = False
    """Whether it comes at a flush or a mark: there is what somebody may rely on."""


def crash_points(entries: Iterable[Entry], seed: int = 0, sector: int = SECTOR) -> Iterator[CrashPoint]:
    """Find every point from the first mark on, with all there is to choose from and some random choices."""
    mark, unflushed = None, 0
    for position, entry in enumerate(entries):
        if isinstance(entry, Flush) and mark is not None:
            yield from _choices(position, mark, unflushed, seed, sector)
        match entry:
            case Write():
                unflushed += 1
            case Flush():
                unflushed = 0
            case Mark(mark):
                yield from _choices(position + 1, mark, unflushed, seed, sector)
        if mark is not None:
            yield CrashPoint(position + 1, mark, All(), is_flush=not isinstance(entry, Write))


def _choices(position: int, mark: int, unflushed: int, seed: int, sector: int) -> Iterator[CrashPoint]:
    if unflushed:
        yield CrashPoint(position, mark, Nothing())
        for number in range(unflushed - 1):
            yield CrashPoint(position, mark, Without(number))
        for number in range(RANDOM_CHOICES):
            yield CrashPoint(position, mark, Some(f"{seed} {position} {number}", sector))


def choose(points: Sequence[CrashPoint], count: int, seed: int) -> list[CrashPoint]:
    """Take those at flushes and marks, and of the others as many as make up `count`, in the order of the recording."""
    flushes = [point for point in points if point.is_flush]
    others = [point for point in points if not point.is_flush]
    some = random.Random(seed).sample(others, max(0, min(len(others), count - len(flushes))))
    return sorted([*flushes, *some], key=lambda point: point.position)


def images(
    entries: Iterable[Entry], points: Iterable[CrashPoint]
) -> Iterator[tuple[list[Write], CrashPoint, list[Write]]]:
    """For each point: what has been flushed since the point before, the point, and what is kept of the rest."""
    remaining = enumerate(entries)
    flushed: list[Write] = []
    unflushed: list[Write] = []
    done = 0
    for point in points:
        while done < point.position:
            number, entry = next(remaining)
            done = number + 1
            match entry:
                case Write():
                    unflushed.append(entry)
                case Flush():
                    flushed += unflushed
                    unflushed.clear()
        yield flushed, point, list(point.choice.keep(unflushed))
        flushed = []
