"""Digests of the batches in each range of offsets: what two copies are compared by before anything is read again."""

from collections.abc import Iterable
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns

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
"""One range. The first two sums are of independent mixes of the batches' headers (see `logstore.kernels.digest`)."""


class RangeDigests:
    """Sums over the batches by range; those of parts of a log, merged in any order, are those of the whole.

    Equal digests mean equal batches: equal offsets, epochs, sizes and stored checksums. They do not
    tell whether a checksum is valid, nor in what order the batches stand, nor in which segments.
    """

    def __init__(self, rows: Rows | None = None) -> None:
        """Take rows of `ROW`, in any order."""
        self._rows: list[Rows] = [] if rows is None else [rows]
        self._pending = 0

    @property
    def rows(self) -> Rows:
        """One row of `ROW` a range, by range."""
        if len(self._rows) != 1 or self._pending:
            self._rows, self._pending = [_summed(self._rows)], 0
        return self._rows[0]

    def add(self, columns: BatchColumns) -> None:
        """Count in the next batches."""
        from logstore.kernels.digest import digest  # noqa: PLC0415  numba loads on the first bulk operation

        if not len(columns):
            return
        starts, first, second = digest(columns, RANGE_BITS)
        rows = np.empty(len(starts), ROW)
        rows["range"] = columns.base_offset[starts] >> RANGE_BITS
        rows["first_sum"], rows["second_sum"] = first, second
        rows["batches"] = np.add.reduceat(np.ones_like(columns.base_offset), starts)
        rows["records"] = np.add.reduceat(columns.record_count, starts, dtype=np.int64)
        rows["bytes"] = np.add.reduceat(columns.size, starts)
        rows["first_offset"] = np.minimum.reduceat(columns.base_offset, starts)
        rows["last_offset"] = np.maximum.reduceat(columns.last_offset, starts)
        self._add(rows)

    def merge(self, other: "RangeDigests") -> None:
        """Count in the batches of another part of the same log."""
        self._add(other.rows)

    @classmethod
    def merged(cls, parts: Iterable["RangeDigests"]) -> Self:
        """Join the digests of parts of one log."""
        whole = cls()
        for part in parts:
            whole.merge(part)
        return whole

    def to_bytes(self) -> bytes:
        """Return the digests for another process: 64 bytes a range."""
        return self.rows.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Take digests from another process."""
        return cls(np.frombuffer(data, ROW))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RangeDigests) and np.array_equal(self.rows, other.rows)

    __hash__ = None  # type: ignore[assignment]  # it changes

    @property
    def batches(self) -> int:
        """All batches."""
        return int(self.rows["batches"].sum())

    @property
    def records(self) -> int:
        """All records that the batches count."""
        return int(self.rows["records"].sum())

    @property
    def bytes(self) -> int:
        """Bytes of all batches."""
        return int(self.rows["bytes"].sum())

    def _add(self, rows: Rows) -> None:
        self._rows.append(rows)
        self._pending += len(rows)
        if self._pending > PENDING_ROWS:
            self._rows, self._pending = [_summed(self._rows)], 0


def _summed(parts: list[Rows]) -> Rows:
    """Join rows of the same range."""
    rows = np.concatenate(parts) if parts else np.empty(0, ROW)
    if not len(rows):
        return rows
    rows = rows[np.argsort(rows["range"], kind="stable")]
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = rows["range"][1:] != rows["range"][:-1]
    starts = begins.nonzero()[0]
    joined = rows[starts]
    for name in ("first_sum", "second_sum", "batches", "records", "bytes"):
        joined[name] = np.add.reduceat(rows[name], starts)
    joined["first_offset"] = np.minimum.reduceat(rows["first_offset"], starts)
    joined["last_offset"] = np.maximum.reduceat(rows["last_offset"], starts)
    return joined
