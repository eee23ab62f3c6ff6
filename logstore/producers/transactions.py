"""Which transactions are open, and which have ended without all replicas knowing: both hold back readers (KIP-98)."""

from bisect import insort
from collections.abc import Iterable
from typing import NamedTuple

from logstore.indexes.transaction_index import AbortedTransaction
from logstore.producers.producer_append import EndedTransaction, StartedTransaction


class Unreplicated(NamedTuple):
    """A transaction that has ended, while its marker is not yet below the high watermark."""

    first_offset: int
    last_offset: int


class Transactions:
    """The transactions of one log, in the order in which they began."""

    def __init__(self) -> None:
        """Begin without any."""
        self.open: list[StartedTransaction] = []
        """Those that have not ended; whoever reads without a lock looks at them before the others."""
        self.unreplicated: list[Unreplicated] = []
        """Those that have, but of which not all replicas know."""

    def copy(self) -> "Transactions":
        """Return those that change on their own."""
        copied = Transactions()
        copied.open = self.open.copy()
        copied.unreplicated = self.unreplicated.copy()
        return copied

    def clear(self) -> None:
        """Forget all."""
        self.open.clear()
        self.unreplicated.clear()

    def start(self, transactions: Iterable[StartedTransaction]) -> None:
        """Take over transactions that began."""
        for transaction in transactions:
            insort(self.open, transaction)

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
        insort(self.unreplicated, Unreplicated(transaction.first_offset, transaction.last_offset))
        self.open.remove(StartedTransaction(transaction.first_offset, transaction.producer_id))
        return aborted

    def forget_replicated(self, offset: int) -> None:
        """Forget the ended transactions whose markers are below `offset`."""
        if self.unreplicated:
            self.unreplicated = [each for each in self.unreplicated if each.last_offset >= offset]

    @property
    def first_open_offset(self) -> int | None:
        """Where the first open transaction began."""
        return self.open[0].first_offset if self.open else None

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the first transaction began that is open or not fully replicated."""
        # The open ones first, for readers: one that ends meanwhile is among the others then. There may be none next.
        if not (self.open or self.unreplicated):
            return None
        firsts = [each.first_offset for each in self.open[:1]]
        firsts += [each.first_offset for each in self.unreplicated[:1]]
        return min(firsts, default=None)

    def has_unreplicated(self) -> bool:
        """Whether an ended transaction waits for the high watermark."""
        return bool(self.unreplicated)

    def _last_stable_offset(self, transaction: EndedTransaction) -> int:
        """Return up to where all is decided once this transaction is."""
        others = (each.first_offset for each in self.open if each.producer_id != transaction.producer_id)
        return next(others, transaction.last_offset + 1)
