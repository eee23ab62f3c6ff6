"""Memory for columns, used again: a page that the system gives anew costs more than the headers that fill it."""

from collections import deque
from collections.abc import Mapping
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from logstore.kernels.data import LINE

KEPT: Final = 16
"""Blocks that wait for their next use."""


class SpareMemory:
    """Blocks of one size, each of which one user has at a time; what is in them means nothing.

    Pages come as they are written to, and are the process's own: one that is forked from it has others. It may be used
    by several threads, in handlers of signals and in finalizers.

    >>> memory = SpareMemory(1 << 20, kept=8)
    >>> block = memory.take()
    >>> memory.give(block)
    """

    def __init__(self, size: int, *, kept: int) -> None:
        """Keep so many blocks at most for their next use."""
        self.size = size
        self._unused: deque[mmap] = deque(maxlen=kept)

    def __len__(self) -> int:
        """Count the blocks that wait for their next use."""
        return len(self._unused)

    def take(self) -> mmap:
        """Return a block that nobody else has."""
        try:
            return self._unused.pop()
        except IndexError:
            return mmap(-1, self.size, MAP_PRIVATE | MAP_ANONYMOUS)

    def give(self, block: mmap) -> None:
        """Return a block that nobody uses any more."""
        self._unused.append(block)


class ColumnMemory:
    """Blocks of columns of one kind; each is used again once nobody holds a view of its columns.

    >>> columns = ColumnMemory({"position": np.int64, "magic": np.int8}, rows=4_096).take()
    """

    def __init__(self, dtypes: Mapping[str, type[np.generic]], rows: int) -> None:
        """Lay out so many rows of each column, one column behind the other."""
        self._rows = rows
        self._places: list[tuple[str, np.dtype[Any], int]] = []
        size = 0
        for name, kind in dtypes.items():
            dtype = np.dtype(kind)
            self._places.append((name, dtype, size))
            size += -(-rows * dtype.itemsize // LINE) * LINE
        self._blocks = SpareMemory(size, kept=KEPT)

    def __len__(self) -> int:
        """Count the blocks that wait for their next use."""
        return len(self._blocks)

    def take(self) -> dict[str, NDArray[Any]]:
        """Return columns that nobody else holds; what is in them means nothing."""
        block = self._blocks.take()
        loan = _Loan(self._blocks.size, np.uint8, block)
        loan.block, loan.blocks = block, self._blocks
        return {name: np.ndarray(self._rows, dtype, loan, start) for name, dtype, start in self._places}


class _Loan(np.ndarray[Any, Any]):
    """A block while it is in use. All views of its columns keep it: NumPy's views look past plain arrays only."""

    block: mmap
    blocks: SpareMemory

    def __del__(self) -> None:
        """Give the block back: no view is left."""
        self.blocks.give(self.block)
