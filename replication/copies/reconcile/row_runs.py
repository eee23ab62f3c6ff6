"""Rows of a table as runs: offsets that follow each other, of which the table has equally many rows."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

UNKNOWN_EPOCH: Final = -1
Numbers = NDArray[np.int64]


class RowRuns(NamedTuple):
    """Runs as columns. Those of one leader epoch do not overlap; those of several may."""

    epoch: Numbers
    """As the rows themselves say; UNKNOWN_EPOCH where they do not."""
    first: Numbers
    last: Numbers
    copies: Numbers
    """How many rows there are of each of these offsets, from 1 on."""

    @property
    def end(self) -> int:
        """Behind the last offset of all; 0 without any."""
        return int(self.last.max()) + 1 if len(self.last) else 0

    def where(self, chosen: NDArray[np.bool_]) -> "RowRuns":
        """Return the chosen runs."""
        return RowRuns(*(column[chosen] for column in self))


def summed(keys: Sequence[Numbers], first: Numbers, last: Numbers, copies: Numbers) -> list[Numbers]:
    """Add up runs that overlap where all their keys are equal, and join those that follow each other.

    Returns the columns of the new runs, keys first, by key and offset. No offset may be 2**63 - 1.

    >>> at = np.array([0, 2]), np.array([4, 6])
    >>> [column.tolist() for column in summed([], *at, np.array([1, 1]))]
    [[0, 2, 5], [1, 4, 6], [1, 2, 1]]
    """
    if not len(first):
        return [*(key[:0] for key in keys), first, last, copies]
    both = [np.concatenate((key, key)) for key in keys]
    place = np.concatenate((first, last + 1))
    change = np.concatenate((copies, -copies))
    order = np.lexsort((place, *(key for key in reversed(both) if key[0] != key[-1] or (key != key[0]).any())))
    place, both = place[order], [key[order] for key in both]
    total = np.cumsum(change[order])  # 0 behind the last event of each key
    is_last = np.append(place[1:] != place[:-1], True)
    begins_key = np.zeros(len(place), np.bool_)
    for key in both:
        begins_key[1:] |= key[1:] != key[:-1]
    is_last[:-1] |= begins_key[1:]
    place, total, both = place[is_last], total[is_last], [key[is_last] for key in both]
    # Behind the last event of a key the total is 0, so that one look back is right across keys too.
    changes = total != np.concatenate(([0], total[:-1]))
    place, total, both = place[changes], total[changes], [key[changes] for key in both]
    rows = np.flatnonzero(total > 0)
    return [*(key[rows] for key in both), place[rows], place[rows + 1] - 1, total[rows]]
