"""A producer of one log, whose records come once each and in order (KIP-98)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Final, Protocol
from weakref import WeakValueDictionary

from logstore.append.append_info import AppendInfo
from logstore.batch.batch_attributes import LAST_SEQUENCE, SEQUENCES
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Record
from logstore.errors import InvalidProducerEpochError, InvalidTransactionStateError, ReentrantCallError
from logstore.producers.producer import Producer

_LAST_EPOCH: Final = 2**15 - 1


class WrittenLog(Protocol):
    """What a producer needs of a log."""

    def append(
        self,
        records: Sequence[Record | bytes],
        *,
        leader_epoch: int | None = None,
        template: BatchTemplate | None = None,
    ) -> AppendInfo:
        """See `Log.append`."""
        ...

    def append_end_transaction(
        self, producer_id: int, producer_epoch: int, *, commit: bool, leader_epoch: int | None = None
    ) -> AppendInfo:
        """See `Log.append_end_transaction`."""
        ...


class LogProducer:
    """Numbers its batches by what the log knows of it, so that it goes on after a restart; see `Log.producer`.

    After an append that raised, the same records are a retry: if they are in the log, they are not written again.
    Several threads may use it; one appends at a time.

    >>> producer = log.producer(7)
    >>> producer.append([b"once"]).is_duplicate
    False
    """

    def __init__(
        self,
        log: WrittenLog,
        producer_id: int,
        producer_epoch: int,
        *,
        may_begin: Callable[[], None],
        known: Callable[[], Producer | None],
        is_current: Callable[["LogProducer"], bool],
        codec: Codec,
    ) -> None:
        """Write by `log`, which knows of the producer what `known` returns; see `Log.producer`."""
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        """A batch of a lower one is refused."""
        self._log = log
        self._may_begin = may_begin
        self._known = known
        self._is_current = is_current
        self._codec = codec
        self._lock = RLock()
        self._is_nested: Callable[[], bool] = self._lock._is_owned  # type: ignore[attr-defined]  # noqa: SLF001  as CallGuard
        self._failed: tuple[int, list[Record | bytes]] | None = None
        """The append that raised: its sequence number and records."""
        self._is_transactional = False

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(id={self.producer_id}, epoch={self.producer_epoch}, "
            f"next_sequence={self.next_sequence})"
        )

    @property
    def next_sequence(self) -> int:
        """The sequence number of the next record: how many were written in this epoch; after 2^31 it begins anew."""
        known = self._known()
        if known is None or known.epoch != self.producer_epoch or known.last_sequence == LAST_SEQUENCE:
            return 0
        return (known.last_sequence + 1) % SEQUENCES

    @property
    def last_offset(self) -> int | None:
        """The offset of its last record in this epoch; None without any."""
        known = self._known()
        if known is None or known.epoch != self.producer_epoch or not known.batches:
            return None
        return known.batches[-1].last_offset

    def append(self, records: Sequence[Record | bytes], *, leader_epoch: int | None = None) -> AppendInfo:
        """Append one batch, once: `is_duplicate` says that it was in the log already, after an append that raised.

        Raises what `Log.append` raises; InvalidProducerEpochError once another producer of this id has been made.
        """
        self._ensure_not_nested()
        with self._lock:
            self._ensure_current()
            batch = list(records)
            sequence = self.next_sequence
            if self._failed is not None and self._failed[1] == batch:
                sequence = self._failed[0]
            self._failed = sequence, batch
            template = BatchTemplate(
                codec=self._codec,
                producer_id=self.producer_id,
                producer_epoch=self.producer_epoch,
                base_sequence=sequence,
                is_transactional=self._is_transactional,
            )
            info = self._log.append(batch, leader_epoch=leader_epoch, template=template)
            self._failed = None
            return info

    @contextmanager
    def transaction(self, *, leader_epoch: int | None = None) -> Iterator["LogProducer"]:
        """Commit what is appended within the block at its end, or abort it if the block raises.

        What other threads append by this producer meanwhile belongs to it, too: let each thread that has transactions
        have a producer of its own. Readers with `Isolation.READ_COMMITTED` see all of it or nothing. If the process
        dies within, `Log.producer` aborts it. Raises what `Log.append_end_transaction` raises;
        InvalidTransactionStateError within a transaction.

        >>> with producer.transaction():
        ...     producer.append([b"withdraw 10"])
        ...     producer.append([b"deposit 10"])
        """
        if self._is_transactional:
            raise InvalidTransactionStateError(
                f"producer {self.producer_id} is in a transaction", advice="end it before the next one begins"
            )
        self.abort_left_over(leader_epoch)  # where the end of one before could not be written
        self._is_transactional = True
        try:
            yield self
        except BaseException:
            self._end(leader_epoch, commit=False)
            raise
        else:
            self._end(leader_epoch, commit=True)
        finally:
            self._is_transactional = False

    def abort_left_over(self, leader_epoch: int | None = None) -> None:
        """Abort the transaction that an earlier producer of this id has left open, if any."""
        self._end(leader_epoch, commit=False)

    def _end(self, leader_epoch: int | None, *, commit: bool) -> None:
        self._ensure_not_nested()
        with self._lock:
            self._ensure_current()
            known = self._known()
            if known is not None and known.has_transaction():
                self._log.append_end_transaction(
                    self.producer_id, self.producer_epoch, commit=commit, leader_epoch=leader_epoch
                )

    def _ensure_current(self) -> None:
        if not self._is_current(self):
            raise InvalidProducerEpochError(
                f"another producer of id {self.producer_id} has been made since",
                advice="use that one, or make one with an id of its own",
            )

    def _ensure_not_nested(self) -> None:
        self._may_begin()
        if self._is_nested():
            raise ReentrantCallError(
                f"this thread is already in a call of producer {self.producer_id}",
                advice="do not use it in a signal handler that may interrupt such a call",
            )


class LogProducers:
    """Makes the producers of one log: of each id the last one that was made may write."""

    def __init__(
        self, log: WrittenLog, known: Callable[[], dict[int, Producer]], may_begin: Callable[[], None]
    ) -> None:
        """Make none yet; `known` returns what the log knows of its producers, `may_begin` raises where no call may."""
        self._log = log
        self._may_begin = may_begin
        self._known = known
        self._current: WeakValueDictionary[int, LogProducer] = WeakValueDictionary()
        """By id; those that nobody uses any more need no place here."""
        self._latest_id = -1
        """The largest one that was given."""
        self._lock = RLock()

    def make(self, producer_id: int | None, codec: Codec, *, new_epoch: bool) -> LogProducer:
        """Make one; see `Log.producer`."""
        self._may_begin()
        with self._lock:
            if producer_id is None:
                producer_id = max((self._latest_id, *self._known())) + 1
            self._latest_id = max(self._latest_id, producer_id)
            known = self._known().get(producer_id)
            epoch = max(known.epoch, 0) if known else 0
            if new_epoch and known is not None:
                if epoch == _LAST_EPOCH:
                    raise InvalidProducerEpochError(
                        f"producer {producer_id} has had all its epochs", advice="make one with another id"
                    )
                epoch += 1
                # By its epoch it ends what the earlier one has left, and fences it for good.
                self._log.append_end_transaction(producer_id, epoch, commit=False)
            made = LogProducer(
                self._log,
                producer_id,
                epoch,
                may_begin=self._may_begin,
                known=lambda: self._known().get(producer_id),
                is_current=lambda producer: self._current.get(producer_id) is producer,
                codec=codec,
            )
            self._current[producer_id] = made
        made.abort_left_over()
        return made
