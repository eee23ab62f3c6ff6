"""Digests of the batches in each range of offsets: what two copies are compared by before anything is read again."""

from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from logstore.columns import BatchColumns

RANGE_BITS: Final = 16
"""A range is the 65,536 offsets that have all higher bits in common; a batch belongs to that of its base offset."""

ROW = np.dtype(
    [
        ("range", "<i8"),
        ("first_sum", "<u8"),
        ("second_sum", "<u8"),
        ("batches", "<i8"),
        ("records", "<i8"),
        ("bytes", "<i8"),
        ("first_offset", "<i8"),
        ("last_offset", "<i8"),
    ]
)
"""One range. The sums are of two independent mixes of each batch's header fields, and so do not depend on order."""


class RangeDigests:
    """Sums over the batches by range; those of parts of a log, merged in any order, are those of the whole.

    Equal digests mean equal batches: equal offsets, epochs, sizes and stored checksums. Whether a checksum holds they
    do not tell, and neither in what order the batches stand nor in which segments.
    """

    def __init__(self, rows: NDArray[np.void] | None = None) -> None:
        """Take rows of `ROW`, by range."""
        self.rows: NDArray[np.void] = np.empty(0, ROW) if rows is None else rows

    def add(self, columns: BatchColumns) -> None:
        """Count in the next batches."""
        raise NotImplementedError

    def merge(self, other: "RangeDigests") -> None:
        """Count in the batches of another part of the same log."""
        raise NotImplementedError

    def to_bytes(self) -> bytes:
        """Return the digests for another process: 64 bytes a range."""
        return self.rows.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Take digests from another process."""
        return cls(np.frombuffer(data, ROW).copy())
