"""Rows of tables as pieces of memory: NumPy takes apart each field of a structured row that it picks by an index."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.void]


def taken(rows: Rows, numbers: NDArray[np.int64]) -> Rows:
    """Return a copy of the rows with these numbers."""
    return rows.take(numbers)


def chosen(rows: Rows, are_wanted: NDArray[np.bool_]) -> Rows:
    """Return a copy of the wanted rows."""
    return rows.compress(are_wanted)


def stacked(parts: Sequence[Rows], dtype: np.dtype[np.void]) -> Rows:
    """Return the rows of all parts, one part behind the other; of a single one, those themselves."""
    filled = [each for each in parts if len(each)]
    if len(filled) <= 1:
        return filled[0] if filled else np.empty(0, dtype)
    size = np.dtype((np.void, dtype.itemsize))
    return np.concatenate([np.ascontiguousarray(each).view(size) for each in filled]).view(dtype)
