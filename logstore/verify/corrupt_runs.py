"""Consecutive batches whose checksums do not match: one finding, in however many chunks they are read."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns
from logstore.verify.finding import CURE, Finding, Reporter


class _Run(NamedTuple):
    """Some of them, in a file."""

    file: str
    position: int
    size: int
    batches: int
    base_offset: int
    """The first one's, as its header has it."""
    last_offset: int


class CorruptRuns:
    """Reports each run once it has ended: a finding for each batch of a log of nothing else would take the memory."""

    def __init__(self, report: Reporter) -> None:
        """Report to `report`."""
        self._report = report
        self._open: _Run | None = None
        """It may go on in the next chunk."""

    def add(self, file: str, columns: BatchColumns) -> Iterator[Finding]:
        """Look at the next batches of a file, which are some; yield the runs that have ended."""
        for first, last in runs((~columns.crc_valid).nonzero()[0]):
            run = _Run(
                file,
                int(columns.position[first]),
                int(columns.size[first : last + 1].sum()),
                last - first + 1,
                int(columns.base_offset[first]),
                int(columns.last_offset[last]),
            )
            before = self._open
            if before is not None and (file, run.position) == (before.file, before.position + before.size):
                self._open = before._replace(
                    size=before.size + run.size, batches=before.batches + run.batches, last_offset=run.last_offset
                )
            else:
                yield from self.end()
                self._open = run
        if columns.crc_valid[-1]:
            yield from self.end()

    @property
    def are_open(self) -> bool:
        """Whether the next batches may belong to a run."""
        return self._open is not None

    def end(self) -> Iterator[Finding]:
        """Yield the run that was read last: no batch follows it."""
        if self._open is not None:
            run, self._open = self._open, None
            yield self._finding(run)

    def _finding(self, run: _Run) -> Finding:
        offsets = f"offsets {run.base_offset}..{run.last_offset}"
        what = (
            f"the checksum of the batch with {offsets} does not match its {run.size:,} bytes"
            if run.batches == 1
            else f"the checksums of {run.batches:,} consecutive batches with {offsets} do not match their "
            f"{run.size:,} bytes"
        )
        return self._report.error(
            "corrupt-batch",
            f"{what}: the records cannot be trusted; Kafka cuts the log off here when it recovers this segment, so "
            f"{CURE}",
            file=run.file,
            position=run.position,
            offset=run.base_offset,
        )


def runs(rows: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Group ascending row numbers into runs: the first and the last of each."""
    if not len(rows):
        return
    for run in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1):
        yield int(run[0]), int(run[-1])
