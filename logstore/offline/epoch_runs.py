"""The leader epochs that the batches of a log carry, as runs of consecutive batches of one epoch."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple, Self

from logstore.batch.columns import BatchColumns


class EpochRun(NamedTuple):
    """Consecutive batches that one leader epoch wrote. `position` is where the first of them stands in `file`."""

    epoch: int
    first_offset: int
    last_offset: int
    batches: int
    file: str
    position: int

    @classmethod
    def of(cls, columns: BatchColumns, start: int, end: int, file: str) -> Self:
        """Create a run from rows `start` to `end`, exclusive, which all have the epoch of the first."""
        return cls(
            epoch=int(columns.leader_epoch[start]),
            first_offset=int(columns.base_offset[start]),
            last_offset=int(columns.last_offset[end - 1]),
            batches=end - start,
            file=file,
            position=int(columns.position[start]),
        )


class EpochRuns:
    """Collects the runs while the batches of a log go by."""

    def __init__(self) -> None:
        self.runs: list[EpochRun] = []

    def add(self, columns: BatchColumns, file: str) -> None:
        """Add the next batches of the log."""
        self.extend(runs_of(columns, file))

    def extend(self, runs: Iterable[EpochRun]) -> None:
        """Add the runs of the next batches of the log."""
        for run in runs:
            if self.runs and self.runs[-1].epoch == run.epoch:
                self.runs[-1] = _joined(self.runs[-1], run)
            else:
                self.runs.append(run)

    def known(self) -> Iterator[EpochRun]:
        """Yield the runs that carry an epoch; magic 0 and 1, and old followers' logs, have none."""
        return (run for run in self.runs if run.epoch >= 0)

    def split(self) -> tuple[list[EpochRun], list[EpochRun]]:
        """Part the runs into those whose epochs rise along the log, and those that do not fit between the others.

        Where a run contradicts those before it, the side with more batches is believed, and the earlier if equal.
        """
        rising: list[EpochRun] = []
        odd: list[EpochRun] = []
        for run in self.known():
            kept = _outweighed_from(rising, run)
            if kept is None:
                odd.append(run)
                continue
            odd += reversed(rising[kept:])
            del rising[kept:]
            if rising and rising[-1].epoch == run.epoch:
                rising[-1] = _joined(rising[-1], run)
            else:
                rising.append(run)
        return rising, odd


def runs_of(columns: BatchColumns, file: str) -> list[EpochRun]:
    """Group the batches of one file into runs."""
    if not len(columns):
        return []
    epochs = columns.leader_epoch
    changes = ((epochs[1:] != epochs[:-1]).nonzero()[0] + 1).tolist()
    return [EpochRun.of(columns, start, end, file) for start, end in pairwise([0, *changes, len(columns)])]


def _outweighed_from(rising: list[EpochRun], run: EpochRun) -> int | None:
    """Return how many of the runs before `run` may stay; None where those of higher epochs outweigh it."""
    kept, weight = len(rising), 0
    while kept and rising[kept - 1].epoch > run.epoch:
        kept -= 1
        weight += rising[kept].batches
        if weight >= run.batches:
            return None
    return kept


def _joined(first: EpochRun, second: EpochRun) -> EpochRun:
    return EpochRun(
        first.epoch,
        first.first_offset,
        second.last_offset,
        first.batches + second.batches,
        first.file,
        first.position,
    )
