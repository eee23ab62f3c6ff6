"""What keeps a transaction's first batch out of a log until its coordinator knows of it (KIP-890)."""

import time
from collections.abc import Callable
from threading import Lock

from logstore import AppendOrigin, InvalidTransactionStateError, OutOfOrderSequenceError
from logstore.append.append_info import AppendInfo
from logstore.batch.batch import RecordBatch
from logstore.log.readable_log import ReadableLog
from logstore.producers.producer import Producer
from replication.cluster.broker.partitions.led_partition import LedPartition


class Guard:
    """One transaction that a coordinator is asked about (Kafka: VerificationGuard, VerificationStateEntry)."""

    __slots__ = ("led", "lowest_sequence", "made", "opens_by_first", "producer_epoch")

    def __init__(self, led: LedPartition, batch: RecordBatch, made: float, *, opens_by_first: bool) -> None:
        """Begin with the batch for which it is asked."""
        self.led: LedPartition = led
        """Who led then. Once somebody else has, that says nothing any more: the transaction may have ended there."""
        self.made: float = made
        self.opens_by_first: bool = opens_by_first
        """Whether each transaction has an epoch of its own: then nothing but sequence number 0 can begin it."""
        self.producer_epoch: int = batch.producer_epoch
        self.lowest_sequence: int = batch.base_sequence
        """Of the batches that were sent meanwhile: a later one does not go before it."""

    def note(self, batch: RecordBatch) -> None:
        """Note another batch that waits for the same answer."""
        if batch.producer_epoch > self.producer_epoch:
            self.producer_epoch, self.lowest_sequence = batch.producer_epoch, batch.base_sequence
        elif batch.producer_epoch == self.producer_epoch:
            self.lowest_sequence = min(self.lowest_sequence, batch.base_sequence)


class TransactionGuards:
    """The guards of one partition, by producer id.

    A guard is good for one append. Whatever else the producer or its coordinator writes first makes it void: an answer
    of the coordinator that was overtaken by the transaction's end opens no other transaction. All that is transactional
    is therefore appended by this, while the partition is led here.

    Where each transaction has an epoch of its own, the end of one has that of the next: it leaves a guard of the next
    as it is.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Create it without guards. `clock` returns seconds."""
        self._clock = clock
        self._lock = Lock()
        self._guards: dict[int, Guard] = {}
        """The oldest first."""

    def __len__(self) -> int:
        return len(self._guards)

    def ask(self, led: LedPartition, log: ReadableLog, batch: RecordBatch, *, opens_by_first: bool) -> Guard | None:
        """Return the guard with which to append a batch once the coordinator has confirmed its partition.

        None where the transaction is open in the log already: then the coordinator need not be asked.
        """
        with self._lock:
            if _is_open(log.known_producer(batch.producer_id), batch):
                return None
            guard = self._guards.get(batch.producer_id)
            if guard is not None and guard.led is led:
                guard.note(batch)
                return guard
            now = self._clock()
            self._forget_before(now - log.config.producer_id_expiration_ms / 1_000)
            self._guards.pop(batch.producer_id, None)
            guard = self._guards[batch.producer_id] = Guard(led, batch, now, opens_by_first=opens_by_first)
            return guard

    def append(
        self, led: LedPartition, log: ReadableLog, batch: RecordBatch, guard: Guard | None, *, required_acks: int
    ) -> AppendInfo:
        """Append a transactional batch, the one that `batch.data` begins with.

        Raises InvalidTransactionStateError where it would begin a transaction and `guard` is not good any more,
        OutOfOrderSequenceError, CorruptBatchError and what `LedPartition.append` raises, with nothing appended.
        """
        with self._lock:
            producer = log.known_producer(batch.producer_id)
            if not (_is_open(producer, batch) or (producer is not None and producer.find_duplicate(batch))):
                self._ensure_guarded(producer, batch, guard)
            info = (led if guard is None else guard.led).append(batch.data, required_acks=required_acks)
            if not info.is_duplicate:
                self._guards.pop(batch.producer_id, None)
        return info

    def append_marker(
        self,
        led: LedPartition,
        marker: bytes | bytearray,
        *,
        producer_id: int,
        producer_epoch: int,
        transaction_version: int,
    ) -> AppendInfo:
        """Append the end of a producer's transaction, as its coordinator asks.

        Raises what `LedPartition.append` raises.
        """
        with self._lock:
            info = led.append(
                marker, required_acks=-1, origin=AppendOrigin.COORDINATOR, transaction_version=transaction_version
            )
            guard = self._guards.get(producer_id)
            if guard is not None and not (guard.opens_by_first and guard.producer_epoch == producer_epoch):
                del self._guards[producer_id]
        return info

    # --- with the lock held

    def _ensure_guarded(self, producer: Producer | None, batch: RecordBatch, guard: Guard | None) -> None:
        if guard is None or self._guards.get(batch.producer_id) is not guard:
            batch.ensure_valid()
            raise InvalidTransactionStateError(
                f"producer {batch.producer_id} writes outside of a transaction that its coordinator has confirmed",
                offset=batch.base_offset,
                advice="abort the transaction, and begin another one",
            )
        if producer is not None and batch.producer_epoch < producer.epoch:
            return  # the log refuses it, for its epoch
        known = producer if producer is not None and producer.batches else None
        if known is not None and known.epoch == batch.producer_epoch:
            # The log knows what comes next. The guard may have been made for a batch that came once more, after the end
            # of its transaction: Kafka refuses the next transaction for that, until the producer has another epoch.
            return
        if batch.base_sequence > (0 if guard.opens_by_first and known is None else guard.lowest_sequence):
            raise OutOfOrderSequenceError(
                f"producer {batch.producer_id} begins a transaction with sequence number {batch.base_sequence}, and "
                f"has sent {guard.lowest_sequence} before",
                offset=batch.base_offset,
                advice="send the batches again in their order",
            )

    def _forget_before(self, time: float) -> None:
        """Forget those that were asked for so long ago that the producer is forgotten too."""
        while self._guards:
            producer_id = next(iter(self._guards))
            if self._guards[producer_id].made >= time:
                return
            del self._guards[producer_id]


def _is_open(producer: Producer | None, batch: RecordBatch) -> bool:
    return producer is not None and producer.has_transaction() and producer.epoch == batch.producer_epoch
