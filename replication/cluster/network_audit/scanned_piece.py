"""Batches that were fetched elsewhere: their headers, and few of their bytes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns
from replication.cluster.network_audit.range_fetch import FetchedPiece


class ScannedPiece(NamedTuple):
    """Whole batches that follow one another."""

    columns: BatchColumns
    kept: bytes
    """The batches of which it may matter whether their records have keys."""
    kept_at: NDArray[np.int64]
    """Where each batch is among those; -1 where it is not."""

    @classmethod
    def of(cls, piece: FetchedPiece, *, with_keys: bool) -> Self:
        """Leave out the bytes; `with_keys` keeps batches beside holes, which the cleaner may have made."""
        columns = piece.columns
        kept_at = np.full(len(columns), -1, np.int64)
        kept: list[bytes] = []
        size = 0
        for row in _beside_holes(columns) if with_keys else ():
            position = int(columns.position[row])
            kept_at[row] = size
            kept.append(bytes(piece.log.data[position : position + int(columns.size[row])]))
            size += len(kept[-1])
        return cls(columns, b"".join(kept), kept_at)

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return int(self.columns.size.sum())

    @property
    def placed(self) -> BatchColumns:
        """The columns, with the places in `kept`."""
        return replace(self.columns, position=self.kept_at)


def _beside_holes(columns: BatchColumns) -> Sequence[int]:
    """Return the batches beside holes, and those at both ends: there may be some beyond."""
    behind = np.flatnonzero(columns.base_offset[1:] > columns.last_offset[:-1] + 1) + 1
    found: list[int] = np.unique(np.concatenate(([0, len(columns) - 1], behind, behind - 1))).tolist()
    return found
