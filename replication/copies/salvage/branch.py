"""What one losing copy has beyond its fork from the kept one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from logstore.batch.any_batch import Batch
from replication.copies.salvage.reason import Reason
from replication.copies.salvage.sound_copy import SoundCopy
from replication.copies.salvage.transactions import Outcome, Transaction, Transactions


@dataclass(slots=True, eq=False)
class ComparedCopy:
    """A copy, its transactions, and where the others diverge from it."""

    copy: SoundCopy
    ends: Mapping[str, int]
    """Where it ends to be common with each other copy, by that copy's name."""
    transactions: Transactions

    @property
    def name(self) -> str:
        """The broker's."""
        return self.copy.name


@dataclass(slots=True, eq=False)
class Branch(ComparedCopy):
    """A losing copy from its fork on, whose transactions are judged by all copies."""

    kept: ComparedCopy
    others: list[ComparedCopy]
    """All other copies, the kept one first."""
    is_compacted: bool

    @property
    def fork(self) -> int:
        """Where the kept copy goes on differently, or ends."""
        return self.ends[self.kept.name]

    @property
    def start(self) -> int:
        """Where its records begin: at the fork, or at the first transaction before it that is to be taken whole."""
        straddling = (each for each in self._straddling() if self._is_reclaimed(each))
        return min((each.first_offset for each in straddling), default=self.fork)

    def batches(self) -> Iterator[Batch]:
        """Walk over the batches that the kept copy lacks, and those of transactions that it aborted alone."""
        for batch in self.copy.batches(self.start):
            if self.concerns(batch):
                yield batch

    def concerns(self, batch: Batch) -> bool:
        """Whether a batch of this copy is one of its branch."""
        if batch.last_offset >= self.fork:
            return True
        held = None if batch.is_control else self._transaction(batch)
        return held is not None and self._is_reclaimed(held)

    def may_hold(self, leader_epoch: int, offset: int) -> bool:
        """Whether this copy may have a record at an offset that was written under that epoch."""
        if offset >= self.copy.log.log_end_offset:
            return False
        written_under = self.copy.log.history.epoch_for_offset(offset)
        return leader_epoch < 0 or written_under is None or written_under == leader_epoch

    def reason(self, batch: Batch) -> Reason | None:
        """Return why the records of a batch are left out for what became of their transaction, None if they are not."""
        if batch.is_control:
            return Reason.CONTROL
        held = self._transaction(batch)
        return self._judge(held) if held else None

    def first_of_transaction(self, batch: Batch) -> int:
        """Return where the transaction of a batch begins; -1 where it is of none."""
        held = self._transaction(batch)
        return held.first_offset if held else -1

    def undecided(self) -> Iterator[Transaction]:
        """Give the transactions that this copy committed, and that the kept one has begun and not ended."""
        return (each for each in self._straddling() if self._judge(each) is Reason.UNDECIDED)

    def _transaction(self, batch: Batch) -> Transaction | None:
        if not batch.is_transactional:
            return None
        return self.transactions.holding(batch.producer_id, batch.base_offset)

    def _straddling(self) -> Iterator[Transaction]:
        """Give the transactions that began before the fork, of which records or the end are beyond it."""
        for transactions in self.transactions.by_producer.values():
            yield from filter(self._is_straddling, transactions)

    def _is_straddling(self, transaction: Transaction) -> bool:
        end = transaction.last_offset if transaction.end_offset is None else transaction.end_offset
        return transaction.first_offset < self.fork <= end

    def _judge(self, transaction: Transaction) -> Reason | None:
        outcome = self._outcome(transaction)
        if outcome is Outcome.OPEN:
            return Reason.OPEN
        if outcome is Outcome.ABORTED:
            return Reason.ABORTED
        if transaction.has_gap and not self.is_compacted:
            return Reason.INCOMPLETE
        return Reason.UNDECIDED if self._kept_outcome(transaction) is Outcome.OPEN else None

    def _is_reclaimed(self, transaction: Transaction) -> bool:
        """Whether the kept copy aborted what this one committed: then it is salvaged from its first record on."""
        is_committed = self._is_straddling(transaction) and self._outcome(transaction) is Outcome.COMMITTED
        return is_committed and self._kept_outcome(transaction) is Outcome.ABORTED

    def _kept_outcome(self, transaction: Transaction) -> Outcome | None:
        """Return how the kept copy ends a transaction that began before the fork; None where it has nothing of it."""
        if transaction.first_offset >= self.fork:
            return None
        held = self.kept.transactions.holding(transaction.producer_id, transaction.first_offset)
        return held.outcome if held else None

    def _outcome(self, transaction: Transaction) -> Outcome:
        """Return how a transaction ended: here, else where its first records are too and a later leader ended it."""
        if transaction.outcome is not Outcome.OPEN:
            return transaction.outcome
        ended = filter(None, (self._ended_in(other, transaction) for other in self.others))
        first = min(ended, key=lambda each: each.end_epoch, default=transaction)
        return first.outcome

    def _ended_in(self, other: ComparedCopy, transaction: Transaction) -> Transaction | None:
        """Return what another copy has of a transaction, if it also has its end.

        A marker alone does not do: it may be the end of a later transaction, where that of this one was cut off, too.
        """
        if transaction.first_offset >= self.ends[other.name]:
            return None
        held = other.transactions.holding(transaction.producer_id, transaction.first_offset)
        is_end = held and held.outcome is not Outcome.OPEN and held.end_epoch >= transaction.leader_epoch
        return held if is_end else None
