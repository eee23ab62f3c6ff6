"""One producer as its partition's log knows it (Kafka: ProducerStateEntry)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from logstore.batch.batch_attributes import NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP, SEQUENCES
from logstore.files.producer_snapshot import ProducerStateEntry

if TYPE_CHECKING:
    from logstore.batch.any_batch import Batch

KEPT_BATCHES: Final = 5
"""As many as a producer may have in flight, so that whatever it repeats is recognised."""
NO_TRANSACTION: Final = -1
NO_COORDINATOR_EPOCH: Final = -1


class AppendedBatch(NamedTuple):
    """A batch that a producer wrote (Kafka: BatchMetadata)."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    """Its last offset minus its first."""
    timestamp: int
    """Its largest, in milliseconds since 1970 UTC."""

    @property
    def first_sequence(self) -> int:
        """The first record's."""
        return (self.last_sequence - self.offset_delta) % SEQUENCES

    @property
    def first_offset(self) -> int:
        """The first record's."""
        return self.last_offset - self.offset_delta


@dataclass(slots=True)
class Producer:
    """Its epoch, last batches and open transaction; -1 stands for none."""

    producer_id: int
    epoch: int = NO_PRODUCER_EPOCH
    batches: tuple[AppendedBatch, ...] = ()
    """The last ones of its epoch, oldest first."""
    timestamp: int = NO_TIMESTAMP
    """Of its last batch or marker."""
    coordinator_epoch: int = NO_COORDINATOR_EPOCH
    transaction_start: int = NO_TRANSACTION
    """The first offset of its open transaction."""

    def copy(self) -> Producer:
        """Return one that changes on its own."""
        return replace(self)

    @property
    def last_sequence(self) -> int:
        """The last record's, -1 if none is known."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def has_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self.transaction_start != NO_TRANSACTION

    def find_duplicate(self, batch: Batch) -> AppendedBatch | None:
        """Find the batch that this one repeats: same epoch, same sequence numbers."""
        if batch.producer_epoch != self.epoch:
            return None
        first, last = batch.base_sequence, batch.last_sequence
        return next((each for each in self.batches if (each.first_sequence, each.last_sequence) == (first, last)), None)

    def add(self, epoch: int, batch: AppendedBatch) -> None:
        """Remember a batch, and forget the oldest or, in a new epoch, all before it."""
        self.move_to(epoch)
        self.batches = (*self.batches[1 - KEPT_BATCHES :], batch)
        self.timestamp = batch.timestamp

    def end_transaction(self, epoch: int, coordinator_epoch: int, timestamp: int) -> None:
        """Remember a marker."""
        self.move_to(epoch)
        self.coordinator_epoch = coordinator_epoch
        self.timestamp = timestamp
        self.transaction_start = NO_TRANSACTION

    def move_to(self, epoch: int) -> None:
        """Forget the batches of any other epoch."""
        if epoch != self.epoch:
            self.batches = ()
            self.epoch = epoch

    def entry(self) -> ProducerStateEntry:
        """Return what a snapshot keeps: of the batches only the last."""
        last = self.batches[-1] if self.batches else AppendedBatch(NO_SEQUENCE, -1, 0, NO_TIMESTAMP)
        return ProducerStateEntry(
            self.producer_id,
            self.epoch,
            last.last_sequence,
            last.last_offset,
            last.offset_delta,
            self.timestamp,
            self.coordinator_epoch,
            self.transaction_start,
        )

    @classmethod
    def of(cls, entry: ProducerStateEntry) -> Producer:
        """Start from what a snapshot kept."""
        last = AppendedBatch(entry.last_sequence, entry.last_offset, entry.offset_delta, entry.timestamp)
        return cls(
            entry.producer_id,
            entry.producer_epoch,
            (last,) if entry.last_offset >= 0 else (),
            entry.timestamp,
            entry.coordinator_epoch,
            max(entry.current_transaction_first_offset, NO_TRANSACTION),
        )
