"""Batches of a log that lies in memory, read by kernels."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns
from logstore.kernels.column_scan import scan
from logstore.kernels.data import read_only
from logstore.kernels.standalone import search_batch

SEARCHED: Final = 2 << 20
"""Bytes that are looked through for a batch, and half of those whose checksums are computed for that at most."""


class MappedBatches:
    """A source of batches for `scan_in_halves`."""

    def __init__(self, data: NDArray[np.uint8], *, check_crc: bool) -> None:
        """Read `data`."""
        self._data = read_only(data)
        self._check_crc = check_crc

    @property
    def size(self) -> int:
        """Bytes that there are."""
        return len(self._data)

    def scan(self, position: int, chunk_bytes: int) -> BatchColumns:
        """See `BatchSource`."""
        return scan(self._data, position, check_crc=self._check_crc, chunk_bytes=chunk_bytes)

    def batch_near(self, position: int, end: int) -> int:
        """See `BatchSource`."""
        limit = min(position + SEARCHED, end)
        found, _ = search_batch(self._data, position, limit, len(self._data), 0, 2 * SEARCHED)
        return int(found)
