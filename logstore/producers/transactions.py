"""Which transactions are open, and which have ended without all replicas knowing: both hold back readers (KIP-98)."""

from bisect import insort
from collections.abc import Iterable
from typing import NamedTuple

from logstore.indexes.transaction_index import AbortedTransaction
from logstore.producers.producer_append import EndedTransaction, StartedTransaction


class _Unreplicated(NamedTuple):
    first_offset: int
    last_offset: int


class Transactions:
    """The transactions of one log, in the order in which they began."""

    def __init__(self) -> None:
        """Begin without any."""
        self._open: list[StartedTransaction] = []
        self._unreplicated: list[_Unreplicated] = []

    def copy(self) -> "Transactions":
        """Return those that change on their own."""
        copied = Transactions()
        copied._open = self._open.copy()
        copied._unreplicated = self._unreplicated.copy()
        return copied

    def clear(self) -> None:
        """Forget all."""
        self._open.clear()
        self._unreplicated.clear()

    def start(self, transactions: Iterable[StartedTransaction]) -> None:
        """Take over transactions that began."""
        for transaction in transactions:
            insort(self._open, transaction)

    def end(self, transaction: EndedTransaction) -> AbortedTransaction | None:
        """Take over a transaction's end; give its index entry if it was aborted."""
        aborted = None
        if transaction.is_aborted:
            aborted = AbortedTransaction(
                transaction.producer_id,
                transaction.first_offset,
                transaction.last_offset,
                self._last_stable_offset(transaction),
            )
        # In this order: readers who look in between must not find it in neither.
        insort(self._unreplicated, _Unreplicated(transaction.first_offset, transaction.last_offset))
        self._open.remove(StartedTransaction(transaction.first_offset, transaction.producer_id))
        return aborted

    def forget_replicated(self, offset: int) -> None:
        """Forget the ended transactions whose markers are below `offset`."""
        if self._unreplicated:
            self._unreplicated = [each for each in self._unreplicated if each.last_offset >= offset]

    @property
    def first_open_offset(self) -> int | None:
        """Where the first open transaction began."""
        return self._open[0].first_offset if self._open else None

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the first transaction began that is open or not fully replicated."""
        # The open ones first, for readers: one that ends meanwhile is among the others then. There may be none next.
        if not (self._open or self._unreplicated):
            return None  # as in most logs, and each fetch asks this of each partition
        firsts = [each.first_offset for each in self._open[:1]]
        firsts += [each.first_offset for each in self._unreplicated[:1]]
        return min(firsts, default=None)

    def has_unreplicated(self) -> bool:
        """Whether an ended transaction waits for the high watermark."""
        return bool(self._unreplicated)

    def _last_stable_offset(self, transaction: EndedTransaction) -> int:
        """Return up to where all is decided once this transaction is."""
        others = (each.first_offset for each in self._open if each.producer_id != transaction.producer_id)
        return next(others, transaction.last_offset + 1)
