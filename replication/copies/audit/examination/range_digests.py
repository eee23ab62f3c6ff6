"""Digests of the batches in each range of offsets: what two copies are compared by before anything is read again."""

from collections.abc import Iterable
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns
from logstore.kernels.batch_digest import digest, joined

RANGE_BITS: Final = 16
"""A range is the 65,536 offsets that have all higher bits in common; a batch belongs to that of its base offset."""
PENDING_ROWS: Final = 65_536
"""Rows that are waiting to be summed up by range, at most: a hostile log has each batch in another range."""

Rows = NDArray[np.void]

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
"""One range. The first two sums are independent mixes of the batches' headers: see `logstore.kernels.batch_digest`."""
_FIELDS: Final = ROW.itemsize // 8


class RangeDigests:
    """Sums over the batches by range; those of parts of a log, merged in any order, are those of the whole.

    Equal digests mean equal batches: equal offsets, epochs, sizes and stored checksums. They do not
    show whether a checksum is valid, nor in what order the batches stand, nor in which segments.
    """

    def __init__(self, ranges: NDArray[np.int64] | None = None) -> None:
        """Create digests from rows as `logstore.kernels.batch_digest` returns them, in any order."""
        self._parts: list[NDArray[np.int64]] = [] if ranges is None else [ranges]
        self._pending = 0

    @property
    def rows(self) -> Rows:
        """One row of `ROW` a range, by range."""
        return self.ranges.view(ROW)[:, 0]

    def add(self, columns: BatchColumns) -> None:
        """Count in the next batches."""
        if len(columns):
            self._add(digest(columns, RANGE_BITS))

    def merge(self, other: "RangeDigests") -> None:
        """Count in the batches of another part of the same log."""
        self._add(other.ranges)

    @classmethod
    def merged(cls, parts: Iterable["RangeDigests"]) -> Self:
        """Join the digests of parts of one log."""
        whole = cls()
        for part in parts:
            whole.merge(part)
        return whole

    def to_bytes(self) -> bytes:
        """Return the digests for another process: 64 bytes a range."""
        return self.ranges.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Decode digests from another process."""
        return cls(np.frombuffer(data, np.int64).reshape(-1, _FIELDS))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RangeDigests) and np.array_equal(self.ranges, other.ranges)

    __hash__ = None  # type: ignore[assignment]  # it changes

    @property
    def ranges(self) -> NDArray[np.int64]:
        """The same rows as `logstore.kernels.batch_digest` has them."""
        if len(self._parts) != 1 or self._pending:
            self._join()
        return self._parts[0]

    def _add(self, ranges: NDArray[np.int64]) -> None:
        self._parts.append(ranges)
        self._pending += len(ranges)
        if self._pending > PENDING_ROWS:
            self._join()

    def _join(self) -> None:
        none = np.empty((0, _FIELDS), np.int64)
        self._parts, self._pending = [joined(np.concatenate(self._parts)) if self._parts else none], 0
