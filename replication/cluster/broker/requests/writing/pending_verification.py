"""A Produce that waits until coordinators have confirmed what it begins to write to."""

import time
from collections.abc import Mapping
from typing import Any, Final

from logstore import TopicPartition
from logstore.log.state.waiters import Waiter, Waiters
from replication.cluster.broker.partitions.transaction_guards import Guard
from replication.cluster.broker.requests.writing.pending_outcomes import PendingOutcomes
from replication.cluster.broker.requests.writing.produce_work import ProduceWork, RefusedRequestError
from replication.cluster.broker.requests.writing.transaction_verification import (
    AskedTransaction,
    TellRefused,
    TransactionVerification,
)
from replication.wire.error_code import ErrorCode
from replication.wire.messages.produce import ProducedPartition
from replication.wire.server.pending import NO_ANSWER

_SINCE_ADDED: Final = 12
"""From here on producers leave it to leaders to add partitions to their transactions (transaction.version 2)."""
_SINCE_ABORTABLE: Final = 11
"""The first version whose producers know TRANSACTION_ABORTABLE."""
_TO_BE_TRIED_AGAIN: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""Answered as NOT_ENOUGH_REPLICAS, for which old producers send a batch again too."""
_ENDING: Final = ErrorCode.CONCURRENT_TRANSACTIONS
"""The producer's last transaction has not got all its markers yet: that takes a moment."""
_ASK_AGAIN_AFTER_SECONDS: Final = 0.02
"""Kafka: add.partitions.to.txn.retry.backoff.ms."""
_ASK_AGAIN_FOR_SECONDS: Final = 0.1
"""Kafka: add.partitions.to.txn.retry.backoff.max.ms."""


class PendingVerification:
    """Asks, then appends in the thread that waits, and then waits for replicas where that is wanted.

    It asks a few times where partitions are to be added and the producer's last transaction is just ending: for the
    producer it would take longer to send all again. Kafka: ReplicaManager.handleProduceAppend.
    """

    def __init__(self, work: ProduceWork, verification: TransactionVerification, version: int) -> None:
        """Ask about all that begins a transaction. Raises RefusedRequestError."""
        self._work = work
        self._verification = verification
        self._version = version
        self._adds = version >= _SINCE_ADDED
        now = time.monotonic()
        self._deadline = now + work.request.timeout_ms / 1_000
        self._ask_again_until = now + _ASK_AGAIN_FOR_SECONDS
        self._ask_again_at: float | None = None
        self._waiters = Waiters()
        self._waiter: Waiter | None = None
        self._acks: PendingOutcomes | None = None
        self._refusals: dict[TopicPartition, ProducedPartition] = {}
        self._guards: dict[TopicPartition, Guard] = {}
        self._is_confirmed = False
        self._ask()

    @property
    def deadline(self) -> float:
        """Until when the coordinator may take to answer, or when it is asked again; and then for the replicas."""
        if self._acks is not None:
            return self._acks.deadline
        again = self._ask_again_at
        return self._deadline if again is None else min(again, self._deadline)

    def attend(self, waiter: Waiter) -> None:
        """Wake it by the coordinator's answer, and by the replicas."""
        self._waiter = waiter
        (self._waiters.add if self._acks is None else self._acks.attend)(waiter)

    def leave(self, waiter: Waiter) -> None:
        """Wake it no more."""
        self._waiters.remove(waiter)
        if self._acks is not None:
            self._acks.leave(waiter)

    def answer(self) -> Any | None:
        """Append once the coordinator has answered; return the answer once there is one. Raises HangUpError."""
        if self._acks is not None:
            return self._acks.answer()
        return self._append() if self._is_confirmed else None

    def expire(self) -> Any | None:
        """Ask once more, do without the coordinator's answer, or without the replicas. Raises HangUpError."""
        if self._acks is not None:
            return self._acks.expire()
        if not self._is_confirmed and self._ask_again_at is not None and self._ask_again_at < self._deadline:
            self._ask()
            return self.answer()
        if not self._is_confirmed:
            self._confirm(dict.fromkeys(self._guards, ErrorCode.NETWORK_EXCEPTION))
        return self._append()

    def _ask(self) -> None:
        """Ask about all that begins a transaction by now. Raises RefusedRequestError."""
        self._ask_again_at = None
        asked = self._begin()
        if asked is None:
            self._is_confirmed = True
        else:
            self._verification.ask(asked, _once(self._tell))

    def _begin(self) -> AskedTransaction | None:
        """Make the guards; return what the coordinator is asked, or None where nothing begins."""
        self._guards, self._refusals = {}, {}
        batches = [taken for taken in self._work.taken if taken.transactional is not None]
        producers = {(batch.producer_id, batch.producer_epoch) for *_, batch in batches if batch is not None}
        if len(producers) > 1:
            raise RefusedRequestError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        for _, partition, hosted, _, _, batch in batches:
            if hosted is None or hosted.led is None or batch is None:
                continue  # it will be refused
            producer = hosted.log.known_producer(batch.producer_id)
            if producer is not None and batch.producer_epoch < producer.epoch:
                self._refusals[partition] = ProducedPartition(ErrorCode.INVALID_PRODUCER_EPOCH)
                continue
            guard = hosted.guards.ask(hosted.led, hosted.log, batch, opens_by_first=self._adds)
            if guard is not None:
                self._guards[partition] = guard
        if not self._guards:
            return None
        ((producer_id, producer_epoch),) = producers
        transactional_id = self._work.request.transactional_id or ""
        return AskedTransaction(transactional_id, producer_id, producer_epoch, tuple(self._guards), self._adds)

    def _tell(self, refused: Mapping[TopicPartition, ErrorCode]) -> None:
        """Handle the coordinator's answer, in any thread."""
        now = time.monotonic()
        if self._adds and _ENDING in refused.values() and now < self._ask_again_until:
            self._ask_again_at = now + _ASK_AGAIN_AFTER_SECONDS
        elif not self._is_confirmed:
            self._confirm(refused)
        self._waiters.wake()

    def _confirm(self, refused: Mapping[TopicPartition, ErrorCode]) -> None:
        self._refusals |= {partition: self._refusal(error) for partition, error in refused.items() if error}
        self._is_confirmed = True

    def _refusal(self, error: ErrorCode) -> ProducedPartition:
        if error is ErrorCode.PRODUCER_FENCED:
            return ProducedPartition(ErrorCode.INVALID_PRODUCER_EPOCH)
        if error is ErrorCode.TRANSACTION_ABORTABLE and self._version < _SINCE_ABORTABLE:
            error = ErrorCode.INVALID_TXN_STATE
        if error is ErrorCode.INVALID_TXN_STATE:
            return ProducedPartition(error, error_message="the partition is not part of the transaction")
        if error in _TO_BE_TRIED_AGAIN or (error is _ENDING and not self._adds):
            what = f"the transaction's coordinator could not confirm the partition: {error.name}"
            return ProducedPartition(ErrorCode.NOT_ENOUGH_REPLICAS, error_message=what)
        return ProducedPartition(error)

    def _append(self) -> Any | None:
        done = self._work.append(self._refusals, self._guards)
        if done is None:
            return NO_ANSWER
        if not isinstance(done, PendingOutcomes):
            return done
        self._acks = done
        if self._waiter is not None:
            done.attend(self._waiter)
        return done.answer()


def _once(tell: TellRefused) -> TellRefused:
    """Return a callback that ignores all but the first answer to a question."""
    left = [tell]

    def told(refused: Mapping[TopicPartition, ErrorCode]) -> None:
        if left:
            left.pop()(refused)

    return told
