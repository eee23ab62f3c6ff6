"""Headers of a log file that is in the page cache, each read by itself without mapping the file."""

import os
from typing import Final

import numpy as np

from logstore.batch.columns import BatchColumns, StopReason
from logstore.batch.layout import HEADER_SIZE
from logstore.kernels.column_scan import CAPACITY, MEMORY
from logstore.kernels.data import read_only
from logstore.kernels.read_cached import read_cached
from logstore.kernels.read_headers import NOT_CACHED, read_headers
from logstore.kernels.scan import search_batch

SEARCHED: Final = 128 << 10
"""Bytes in which a batch is looked for."""


class UnmappedHeaders:
    """A `BatchSource`: a file as long as it is now; one that is cut later ends where it then does."""

    def __init__(self, descriptor: int) -> None:
        """Read by this descriptor, which stays the caller's. Raises OSError."""
        self._descriptor = descriptor
        self.size: int = os.fstat(descriptor).st_size

    def scan(self, position: int, chunk_bytes: int, *, rows: int = CAPACITY) -> BatchColumns:
        """Read the headers of at most so many batches that begin within `chunk_bytes`.

        Raises BlockingIOError where the first is not in the page cache: reading them one by one from a disk costs more
        than all that lies between them.
        """
        columns = MEMORY.take()
        header = np.empty(HEADER_SIZE, np.uint8)
        count, next_position, stop = read_headers(
            self._descriptor, header, position, self.size, position + chunk_bytes, rows, *columns.values()
        )
        if stop == NOT_CACHED:
            if count == 0:
                raise BlockingIOError(f"the header at {position:,} is not in the page cache")
            stop = StopReason.MORE
        filled = {name: column[:count] for name, column in columns.items()}
        return self._not_cut(BatchColumns(**filled, next_position=int(next_position), stop=StopReason(stop)))

    def _not_cut(self, columns: BatchColumns) -> BatchColumns:
        """Leave out the batches of which the file has not all bytes any more: a header does not show that."""
        size = os.fstat(self._descriptor).st_size
        if columns.next_position <= size:
            return columns
        whole = int(np.searchsorted(columns.position + columns.size, size, side="right"))
        end = int(columns.position[whole]) if whole < len(columns) else columns.next_position
        return columns.slice(0, whole, end, StopReason.END if end == size else StopReason.TORN)

    def batch_near(self, position: int, end: int) -> int:
        """See `BatchSource`."""
        window = np.empty(min(SEARCHED, end - position), np.uint8)
        size = max(read_cached(self._descriptor, window, 0, len(window), position), 0)
        found, _ = search_batch(read_only(window), 0, size, size, 0, SEARCHED)
        return position + int(found) if found >= 0 else -1
