"""Batches of one copy as columns, over all its segments: what is needed to identify and to find them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns

NO_EPOCH: Final = -1

Column = NDArray[np.int64]
Chosen = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BatchRows:
    """One row a batch, in the order in which they stand in the files."""

    segment: Column
    """The number of the segment among the copy's."""
    position: Column
    size: Column
    base_offset: Column
    last_offset: Column
    leader_epoch: Column
    crc: Column
    """As it is stored: of all but the base offset, the length and the leader epoch."""
    record_count: Column

    @classmethod
    def of(cls, chunks: Iterable[tuple[int, BatchColumns]]) -> Self:
        """Create rows from batches, each chunk with the number of its segment."""
        parts: list[Sequence[NDArray[Any]]] = [[np.empty(0, np.int64)] * len(_COLUMNS)]
        for segment, columns in chunks:
            parts.append([np.full(len(columns), segment), *(getattr(columns, name) for name in _COLUMNS[1:])])
        return cls(*(np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True)))

    def __len__(self) -> int:
        return len(self.position)

    def where(self, chosen: Chosen) -> Self:
        """Return the chosen ones."""
        return self if chosen.all() else type(self)(*(getattr(self, name)[chosen] for name in _COLUMNS))

    def in_order(self) -> Self:
        """Leave out as few as can be so that offsets rise from batch to batch, and leader epochs never fall."""
        rising = self.where(_longest_chain(self.base_offset, self.last_offset))
        has_epoch = rising.leader_epoch >= 0
        kept = rising.leader_epoch == NO_EPOCH  # as in old formats, wherever they stand
        kept[has_epoch] = _longest_chain(rising.leader_epoch[has_epoch] + 1, rising.leader_epoch[has_epoch])
        return rising.where(kept)


_COLUMNS = tuple(column.name for column in fields(BatchRows))
IDENTITY = ("base_offset", "last_offset", "leader_epoch", "size", "crc")
"""What distinguishes a batch from every other: the checksum is of all else."""


def _longest_chain(low: Column, high: Column) -> Chosen:
    """Choose as many rows as can be, each of which begins above where the one chosen before it ends."""
    if (low[1:] > high[:-1]).all():
        return np.ones(len(low), np.bool_)
    lowest = np.empty(len(low), np.int64)  # the lowest end of a chain of each length, and whose it is
    ends = np.empty(len(low), np.int64)
    before = np.full(len(low), -1)
    length = 0
    for row, (begin, end) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        place = int(np.searchsorted(lowest[:length], begin))
        before[row] = ends[place - 1] if place else -1
        if place == length or end < lowest[place]:
            lowest[place], ends[place] = end, row
            length = max(length, place + 1)
    chosen = np.zeros(len(low), np.bool_)
    row = int(ends[length - 1])
    while row >= 0:
        chosen[row] = True
        row = int(before[row])
    return chosen
