"""What a recovery pass carries along, and what it fills: of the kernel, and of plain Python."""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

CAPACITY = 4_096
"""Rows of each column."""

NO_TIMESTAMP = -1


class Slot(IntEnum):
    """Places in the state that a pass carries from one call to the next."""

    POSITION = 0
    """The end of what is valid."""
    INDEXED = 1
    """Where the batch of the last index entry begins; 0 before the first."""
    LAST_OFFSET = 2
    """The last batch's; the base offset - 1 before the first."""
    MAX_TIMESTAMP = 3
    MAX_TIMESTAMP_OFFSET = 4
    """The last offset of the first batch with that timestamp."""
    EPOCH = 5
    """The last batch's leader epoch; -1 before the first."""
    BASE_OFFSET = 6
    """The last batch's base offset."""
    BATCHES = 7
    INDEX_ROWS = 8
    EPOCH_ROWS = 9
    PRODUCER_ROWS = 10
    IS_ORDERED = 11
    """1 where the pass stops at a batch that begins below the end of the one before it."""


# numba takes these as constants; members of an IntEnum would be looked up.
POSITION, INDEXED, LAST_OFFSET, MAX_TIMESTAMP, MAX_TIMESTAMP_OFFSET, EPOCH, BASE_OFFSET = range(7)
BATCHES, INDEX_ROWS, EPOCH_ROWS, PRODUCER_ROWS, IS_ORDERED = range(7, 12)


def _column() -> NDArray[np.int64]:
    return np.empty(CAPACITY, np.int64)


@dataclass(slots=True)
class RecoveryColumns:
    """What one call of the pass fills: rows of index entries, of epochs, of producers' batches."""

    index_offset: NDArray[np.int64] = field(default_factory=_column)
    """Last offset of each batch that an index entry points to."""
    index_position: NDArray[np.int64] = field(default_factory=_column)
    time_timestamp: NDArray[np.int64] = field(default_factory=_column)
    """The largest timestamp up to that batch, and the offset that goes with it."""
    time_offset: NDArray[np.int64] = field(default_factory=_column)
    epoch: NDArray[np.int64] = field(default_factory=_column)
    """Where the leader epoch changes from one batch to the next: both batches' epochs, and their base offsets."""
    epoch_offset: NDArray[np.int64] = field(default_factory=_column)
    producer_position: NDArray[np.int64] = field(default_factory=_column)
    """Where batches with a producer id begin."""


def new_state(base_offset: int, *, position: int = 0, is_ordered: bool = False) -> NDArray[np.int64]:
    """Return the state before the first batch of a segment."""
    state = np.zeros(len(Slot), np.int64)
    state[POSITION] = position
    state[IS_ORDERED] = is_ordered
    state[LAST_OFFSET] = base_offset - 1
    state[MAX_TIMESTAMP] = state[EPOCH] = NO_TIMESTAMP
    state[MAX_TIMESTAMP_OFFSET] = -1
    return state
