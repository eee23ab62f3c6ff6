"""One append as its producers see it: checked against what they wrote before, not yet taken over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from logstore import batch as formats
from logstore.arguments import number_within
from logstore.batch.append_origin import AppendOrigin
from logstore.batch.batch_attributes import LAST_SEQUENCE, NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from logstore.errors import (
    InvalidProducerEpochError,
    InvalidTransactionStateError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
)
from logstore.producers.producer import AppendedBatch, Producer
from logstore.producers.transactions import EndedTransaction, StartedTransaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from logstore.batch.any_batch import Batch
    from logstore.batch.control import EndTransactionMarker

_LAST_EPOCH: Final = 2**15 - 1
_EPOCH_PER_TRANSACTION: Final = 2
"""The transaction version from which each transaction has an epoch of its own (KIP-890)."""


class ProducerAppend:
    """What an append changes, once it is written (Kafka: ProducerAppendInfo, one for each producer)."""

    __slots__ = ("_find", "_origin", "_transaction_version", "duplicate", "ended", "producers", "started")

    def __init__(
        self, find: Callable[[int], Producer | None], origin: AppendOrigin, transaction_version: int | None = None
    ) -> None:
        """Begin with nothing; `find` gives the producers as they were before."""
        self._find = find
        self._origin = origin
        self._transaction_version = transaction_version
        self.producers: dict[int, Producer] = {}
        """As they will be, by producer id."""
        self.started: list[StartedTransaction] = []
        self.ended: list[EndedTransaction] = []
        self.duplicate: AppendedBatch | None = None
        """The batch was written before: write nothing, and answer with this one's offsets."""

    def add_all(self, batches: Iterable[Batch]) -> None:
        """Check and add batches, up to the first duplicate. Raises what `ProducerState.prepare` raises."""
        for batch in batches:
            if batch.producer_id != NO_PRODUCER_ID:
                self.duplicate = self._duplicate(batch)
                if self.duplicate:
                    return
                self._add(batch)

    def _duplicate(self, batch: Batch) -> AppendedBatch | None:
        known = self._find(batch.producer_id) if self._origin is AppendOrigin.CLIENT else None
        return known.find_duplicate(batch) if known else None

    def _add(self, batch: Batch) -> None:
        producer = self.producers.get(batch.producer_id)
        if producer is None:
            known = self._find(batch.producer_id)
            producer = known.copy() if known else Producer(batch.producer_id)
            self.producers[batch.producer_id] = producer
        if batch.is_control:
            self._add_marker(producer, batch)
        else:
            self._add_data(producer, batch)

    def _add_data(self, producer: Producer, batch: Batch) -> None:
        if batch.producer_epoch < producer.epoch:
            self._refuse_epoch(producer, batch)
        if self._origin is AppendOrigin.CLIENT:
            _check_sequence(producer, batch)
        if producer.has_transaction() and not batch.is_transactional:
            raise InvalidTransactionStateError(
                f"producer {producer.producer_id} has a transaction open since offset {producer.transaction_start:,} "
                "and writes outside of it",
                offset=batch.base_offset,
                advice="commit or abort the transaction first",
            )
        offset_delta = batch.last_offset - batch.base_offset
        producer.add(
            batch.producer_epoch,
            AppendedBatch(batch.last_sequence, batch.last_offset, offset_delta, batch.max_timestamp),
        )
        if batch.is_transactional and not producer.has_transaction():
            producer.transaction_start = batch.base_offset
            self.started.append(StartedTransaction(batch.base_offset, producer.producer_id))

    def _add_marker(self, producer: Producer, batch: Batch) -> None:
        record = next(batch.records(), None)
        # A control batch without records: compaction has removed the whole transaction.
        marker = formats.control.ControlRecord.of(record).end_transaction_marker() if record else None
        if record is None or marker is None:
            return
        self._check_marker(producer, marker, batch)
        if producer.has_transaction():
            aborted = marker.type is formats.control.ControlType.ABORT
            ended = EndedTransaction(producer.producer_id, producer.transaction_start, batch.base_offset, aborted)
            self.ended.append(ended)
        producer.end_transaction(batch.producer_epoch, marker.coordinator_epoch, record.timestamp)

    def _check_marker(self, producer: Producer, marker: EndTransactionMarker, batch: Batch) -> None:
        if self._origin is AppendOrigin.REPLICATION:
            return
        if self._transaction_version is None:
            raise ValueError("a transaction marker needs its transaction_version: 0 or 1, or 2 with KIP-890")
        version = number_within(self._transaction_version, "transaction_version", _EPOCH_PER_TRANSACTION)
        if self._is_old(producer, batch.producer_epoch, version):
            self._refuse_epoch(producer, batch)
        if marker.coordinator_epoch < producer.coordinator_epoch:
            raise TransactionCoordinatorFencedError(
                f"a marker for producer {producer.producer_id} comes from a coordinator of epoch "
                f"{marker.coordinator_epoch}, and one of epoch {producer.coordinator_epoch} has written already",
                offset=batch.base_offset,
                advice="leave it to the new coordinator",
            )

    @staticmethod
    def _is_old(producer: Producer, epoch: int, transaction_version: int) -> bool:
        """Whether a marker's epoch is behind; with KIP-890 the open transaction's own epoch is, unless repeated."""
        if transaction_version >= _EPOCH_PER_TRANSACTION and epoch == producer.epoch:
            return producer.has_transaction() and epoch != _LAST_EPOCH
        return epoch < producer.epoch

    def _refuse_epoch(self, producer: Producer, batch: Batch) -> None:
        """Raise, unless the leader has let it pass already."""
        if self._origin is AppendOrigin.REPLICATION:
            return
        raise InvalidProducerEpochError(
            f"producer {producer.producer_id} writes with epoch {batch.producer_epoch}, "
            f"and has written with epoch {producer.epoch} before",
            offset=batch.base_offset,
            advice="initialise the producer again: another instance of it has taken over",
        )


def _check_sequence(producer: Producer, batch: Batch) -> None:
    """Raise OutOfOrderSequenceError unless a client's batch follows its last one.

    Of a producer that is not known, or no more because its records are deleted, every number is accepted.
    """
    first = batch.base_sequence
    if producer.epoch == NO_PRODUCER_EPOCH:
        return
    new_epoch = batch.producer_epoch != producer.epoch
    expected = 0 if new_epoch or producer.last_sequence == LAST_SEQUENCE else producer.last_sequence + 1
    if first == expected:
        return
    raise OutOfOrderSequenceError(
        f"producer {producer.producer_id} writes sequence number {first} "
        f"in {'new ' if new_epoch else ''}epoch {batch.producer_epoch}, but {expected} was expected",
        offset=batch.base_offset,
        advice="a batch before it was lost: send that one first, or initialise the producer again",
    )
