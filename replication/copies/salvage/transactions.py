"""The transactions of one copy: which batches belong together, and how it ends them."""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from logstore.batch.any_batch import Batch
from logstore.batch.batch_attributes import LAST_SEQUENCE
from logstore.batch.control import ControlRecord, ControlType
from replication.copies.salvage.sound_copy import SoundCopy


class Outcome(StrEnum):
    """How a copy ends a transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"
    """It has no marker."""


@dataclass(slots=True)
class Transaction:
    """The batches of one producer between two markers of its."""

    producer_id: int
    producer_epoch: int
    first_offset: int
    last_offset: int
    """Of its last record: the marker follows later."""
    leader_epoch: int
    """Under which its last batch was written."""
    first_sequence: int
    last_sequence: int
    """The sequence numbers of its first and last record."""
    outcome: Outcome = Outcome.OPEN
    end_offset: int | None = None
    """The marker's; None where there is none."""
    end_epoch: int = -1
    """The leader epoch under which the marker was written."""
    has_gap: bool = False
    """Whether sequence numbers are missing among its records, or right before them."""


class LoneEnd(NamedTuple):
    """A marker that no record of its transaction comes before."""

    offset: int
    producer_epoch: int
    outcome: Outcome


@dataclass(slots=True)
class Transactions:
    """All transactions of a copy, each producer's in the order of their offsets."""

    by_producer: dict[int, list[Transaction]] = field(default_factory=lambda: defaultdict(list))
    lone_ends: dict[int, list[LoneEnd]] = field(default_factory=lambda: defaultdict(list))
    """Each producer's markers that end no record of this copy."""
    _sequences: dict[tuple[int, int], int] = field(default_factory=dict)
    """The next sequence number of a producer and its epoch."""

    @classmethod
    def read(cls, copy: SoundCopy) -> "Transactions":
        """Follow the transactions from the log's start to the end of what is sound.

        Raises CorruptControlRecordError for a marker that cannot be read, and OSError.
        """
        found = cls()
        for batch in copy.transaction_batches():
            if batch.is_control:
                found._end(batch)
            else:
                found._extend(batch)
        return found

    def holding(self, producer_id: int, offset: int) -> Transaction | None:
        """Return the transaction of a producer that a record at `offset` belongs to; None where there is none."""
        transactions = self.by_producer.get(producer_id, [])
        number = bisect_right(transactions, offset, key=lambda each: each.first_offset) - 1
        if number < 0 or offset > transactions[number].last_offset:
            return None
        return transactions[number]

    def outcome_of(self, batch: Batch) -> Outcome:
        """Return how the transaction ends that a batch of this copy belongs to; committed where it is of none."""
        held = self.holding(batch.producer_id, batch.base_offset) if batch.is_transactional else None
        return held.outcome if held else Outcome.COMMITTED

    def _end(self, batch: Batch) -> None:
        control = ControlRecord.of(next(batch.records()))
        if control.type not in {ControlType.COMMIT, ControlType.ABORT}:
            return
        outcome = Outcome.COMMITTED if control.type == ControlType.COMMIT else Outcome.ABORTED
        if (current := self._open(batch.producer_id)) is None:
            self.lone_ends[batch.producer_id].append(LoneEnd(batch.base_offset, batch.producer_epoch, outcome))
        else:
            current.outcome, current.end_offset, current.end_epoch = outcome, batch.base_offset, batch.leader_epoch

    def _extend(self, batch: Batch) -> None:
        producer = batch.producer_id, batch.producer_epoch
        has_gap = batch.base_sequence != self._sequences.get(producer, batch.base_sequence)
        self._sequences[producer] = (batch.last_sequence + 1) & LAST_SEQUENCE
        current = self._open(batch.producer_id)
        if current is None:
            place = batch.base_offset, batch.last_offset, batch.leader_epoch
            current = Transaction(*producer, *place, batch.base_sequence, batch.last_sequence)
            self.by_producer[batch.producer_id].append(current)
        current.last_offset, current.leader_epoch = batch.last_offset, batch.leader_epoch
        current.last_sequence = batch.last_sequence
        current.has_gap |= has_gap

    def _open(self, producer_id: int) -> Transaction | None:
        """Return the transaction that no marker has ended yet."""
        transactions = self.by_producer.get(producer_id)
        return transactions[-1] if transactions and transactions[-1].end_offset is None else None
