"""The leader epochs that the batches of a log carry, as runs of consecutive batches of one epoch."""

from collections.abc import Iterator
from dataclasses import dataclass

from logstore.batch.columns import BatchColumns


@dataclass(frozen=True, slots=True)
class EpochRun:
    """Consecutive batches that one leader epoch wrote. `position` is where the first of them stands in `file`."""

    epoch: int
    first_offset: int
    last_offset: int
    batches: int
    file: str
    position: int


class EpochRuns:
    """Collects the runs while the batches of a log go by."""

    def __init__(self) -> None:
        self.runs: list[EpochRun] = []

    def add(self, columns: BatchColumns, file: str) -> None:
        """Take the next batches of the log."""
        if not len(columns):
            return
        epochs = columns.leader_epoch
        changes = ((epochs[1:] != epochs[:-1]).nonzero()[0] + 1).tolist()
        starts = [0, *changes]
        ends = [*changes, len(columns)]
        for start, end in zip(starts, ends, strict=True):
            self._append(
                EpochRun(
                    epoch=int(columns.leader_epoch[start]),
                    first_offset=int(columns.base_offset[start]),
                    last_offset=int(columns.last_offset[end - 1]),
                    batches=end - start,
                    file=file,
                    position=int(columns.position[start]),
                )
            )

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

    def _append(self, run: EpochRun) -> None:
        if self.runs and self.runs[-1].epoch == run.epoch:
            self.runs[-1] = _joined(self.runs[-1], run)
        else:
            self.runs.append(run)


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
