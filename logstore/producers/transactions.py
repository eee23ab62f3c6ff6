"""Which transactions are open, and which have ended without all replicas knowing: both hold back readers (KIP-98)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from logstore import indexes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logstore.indexes.transaction_index import AbortedTransaction


class StartedTransaction(NamedTuple):
    """A producer's first write after its last transaction ended."""

    first_offset: int
    producer_id: int


class EndedTransaction(NamedTuple):
    """A transaction with its marker (Kafka: CompletedTxn)."""

    producer_id: int
    first_offset: int
    last_offset: int
    """The marker's."""
    is_aborted: bool


class Unreplicated(NamedTuple):
    """A transaction that has ended, while its marker is not yet below the high watermark."""

    first_offset: int
    last_offset: int


class Transactions:
    """The transactions of one log, in the order in which they began.

    Tuples, so that whoever reads without a lock has them as they were at a moment, and logs without any share one.
    """

    __slots__ = ("open", "unreplicated")

    def __init__(self) -> None:
        """Begin without any."""
        self.open: tuple[StartedTransaction, ...] = ()
        """Those that have not ended; whoever reads without a lock looks at them before the others."""
        self.unreplicated: tuple[Unreplicated, ...] = ()
        """Those that have, but of which not all replicas know."""

    def copy(self) -> Transactions:
        """Return those that change on their own."""
        copied = Transactions()
        copied.open = self.open
        copied.unreplicated = self.unreplicated
        return copied

    def clear(self) -> None:
        """Forget all."""
        self.open = self.unreplicated = ()

    def start(self, transactions: Iterable[StartedTransaction]) -> None:
        """Add transactions that began."""
        begun = tuple(transactions)
        if begun:
            self.open = tuple(sorted(self.open + begun))

    def end(self, transaction: EndedTransaction) -> AbortedTransaction | None:
        """End a transaction; return its index entry if it was aborted."""
        aborted = None
        if transaction.is_aborted:
            aborted = indexes.transaction_index.AbortedTransaction(
                transaction.producer_id,
                transaction.first_offset,
                transaction.last_offset,
                self._last_stable_offset(transaction),
            )
        # In this order: readers who look in between must not find it in neither.
        ended = Unreplicated(transaction.first_offset, transaction.last_offset)
        self.unreplicated = tuple(sorted((*self.unreplicated, ended)))
        place = self.open.index(StartedTransaction(transaction.first_offset, transaction.producer_id))
        self.open = self.open[:place] + self.open[place + 1 :]
        return aborted

    def forget_replicated(self, offset: int) -> None:
        """Forget the ended transactions whose markers are below `offset`."""
        if self.unreplicated:
            self.unreplicated = tuple(each for each in self.unreplicated if each.last_offset >= offset)

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
