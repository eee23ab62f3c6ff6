"""Whose records a reader of committed records skips."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from logstore.batch.batch_attributes import TRANSACTIONAL_BIT
from logstore.batch.layout import MAGIC
from logstore.indexes.transaction_index import AbortedTransaction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from logstore.batch.columns import BatchColumns


class AbortedProducers:
    """Which producers' records a reader of committed records skips, while it goes over the batches."""

    def __init__(self, transactions: Sequence[AbortedTransaction]) -> None:
        self._ahead = sorted(transactions, key=lambda each: each.first_offset, reverse=True)
        self._active: dict[int, int] = {}

    def cover(self, base_offset: int, last_offset: int, producer_id: int, is_transactional: bool) -> bool:
        """Return whether a batch belongs to an aborted transaction; call it once for each batch, in order."""
        while self._ahead and self._ahead[-1].first_offset <= last_offset:
            begun = self._ahead.pop()
            self._active[begun.producer_id] = begun.last_offset
        end = self._active.get(producer_id)
        if end is not None and base_offset >= end:
            del self._active[producer_id]
            return False
        return end is not None and is_transactional

    def covered(self, batches: "BatchColumns") -> "NDArray[np.bool_]":
        """Return which of consecutive batches belong to aborted transactions."""
        is_transactional: NDArray[np.bool_] = (batches.attributes & TRANSACTIONAL_BIT != 0) & (batches.magic == MAGIC)
        if not self._ahead and not self._active:
            return is_transactional & False
        columns = batches.base_offset, batches.last_offset, batches.producer_id, is_transactional
        covered = is_transactional.copy()
        covered[:] = [self.cover(*row) for row in zip(*(each.tolist() for each in columns), strict=True)]
        return covered
