"""What a log knows of its producers: to drop duplicates, and to know what is committed (KIP-98).

Kafka: ProducerStateManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from epoch.filesystem import REAL, FileSystem
from logstore import producers
from logstore.batch.append_origin import AppendOrigin
from logstore.errors import CorruptSnapshotError
from logstore.files.producer_snapshot import ProducerSnapshot
from logstore.log_config import DAY_MS
from logstore.producers.producer_snapshots import PreparedSnapshots, ProducerSnapshots
from logstore.producers.transactions import StartedTransaction, Transactions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from logstore.batch.any_batch import Batch
    from logstore.indexes.transaction_index import AbortedTransaction
    from logstore.producers.producer import Producer
    from logstore.producers.producer_append import ProducerAppend


class ProducerState:
    """The producers of one log, and their snapshot files in its directory. The log's lock guards it.

    append = state.prepare(batches, AppendOrigin.CLIENT)   # raises; append.duplicate: written before, answer with it
    ...                                                    # write the batches
    aborted = state.update(append)                         # entries to write to the active segment's .txnindex
    state.end_offset = log_end_offset
    """

    __slots__ = ("_expiration_ms", "_producers", "_snapshot_offset", "_snapshots", "end_offset", "transactions")

    def __init__(self, directory: Path, *, filesystem: FileSystem = REAL, expiration_ms: int = DAY_MS) -> None:
        """Know nothing, but find the snapshot files; `reload` reads one. Raises OSError."""
        self.end_offset: int = 0
        """The log's end as far as its producers are known: set it after each append (Kafka: mapEndOffset)."""
        self._snapshot_offset = 0
        self._snapshots: ProducerSnapshots = ProducerSnapshots(directory, filesystem)
        self._expiration_ms = expiration_ms
        self._producers: dict[int, Producer] = {}
        self.transactions: Transactions = Transactions()
        """Of all producers."""

    # Appends ---------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"ProducerState({len(self._producers):,} producers, end_offset={self.end_offset})"

    def prepare(
        self, batches: Iterable[Batch], origin: AppendOrigin, *, transaction_version: int | None = None
    ) -> ProducerAppend:
        """Check what the batches' producers may write, changing nothing yet.

        Transaction markers of a coordinator need the `transaction_version` of their producer (KIP-890), else
        ValueError. Raises OutOfOrderSequenceError, InvalidProducerEpochError, InvalidTransactionStateError and
        TransactionCoordinatorFencedError.
        """
        append = producers.producer_append.ProducerAppend(self._producers.get, origin, transaction_version)
        append.add_all(batches)
        return append

    def update(self, append: ProducerAppend) -> list[AbortedTransaction]:
        """Apply what was written; return the transactions that it aborted, for the transaction index."""
        self._producers.update(append.producers)
        self.transactions.start(append.started)
        return [aborted for aborted in map(self.transactions.end, append.ended) if aborted]

    def replay(self, batch: Batch) -> list[AbortedTransaction]:
        """Apply a batch that is in the log already, `end_offset` included: recovery and truncation."""
        aborted = self.update(self.prepare([batch], AppendOrigin.REPLICATION))
        self.end_offset = batch.last_offset + 1
        return aborted

    # Answers ---------------------------------------------------------------------------------------------------

    @property
    def producers(self) -> dict[int, Producer]:
        """All that are known, by id."""
        return self._producers

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the first transaction begins that is open, or whose end is not yet below the high watermark."""
        return self.transactions.first_unstable_offset

    @property
    def first_undecided_offset(self) -> int | None:
        """Where the first open transaction begins."""
        return self.transactions.first_open_offset

    @property
    def snapshot_offsets(self) -> tuple[int, ...]:
        """Offsets of the snapshot files, ascending."""
        return self._snapshots.offsets

    @property
    def latest_snapshot_offset(self) -> int | None:
        """Offset of the newest snapshot file."""
        return self._snapshots.latest

    @property
    def oldest_snapshot_offset(self) -> int | None:
        """Offset of the oldest snapshot file."""
        return self._snapshots.oldest

    def is_empty(self) -> bool:
        """Whether no producer is known and no transaction waits for the high watermark."""
        return not self._producers and not self.transactions.has_unreplicated()

    # What moves the log's ends ---------------------------------------------------------------------------------

    def on_high_watermark(self, high_watermark: int) -> None:
        """Forget the ended transactions below it (Kafka: onHighWatermarkUpdated)."""
        self.transactions.forget_replicated(high_watermark)

    def on_log_start_offset(self, log_start_offset: int) -> None:
        """Follow the log's start as records are deleted (Kafka: onLogStartOffsetIncremented)."""
        self.transactions.forget_replicated(log_start_offset)
        self.end_offset = max(self.end_offset, log_start_offset)
        self._snapshot_offset = log_start_offset if self._snapshots.latest is None else self._snapshots.latest

    def expire(self, now_ms: int) -> None:
        """Forget producers that have not written for `expiration_ms` and have no open transaction."""
        self._producers = {key: each for key, each in self._producers.items() if not self._is_expired(each, now_ms)}

    def reload(self, log_start_offset: int, log_end_offset: int, now_ms: int) -> None:
        """Go back to the latest snapshot up to the log's end; replay what follows it (Kafka: truncateAndReload).

        Snapshots outside of the log are removed, damaged ones too. Afterwards `end_offset` says from where to replay.
        Raises OSError.
        """
        self._snapshots.remove_all(
            [each for each in self._snapshots.offsets if not log_start_offset < each <= log_end_offset]
        )
        if log_end_offset == self.end_offset:
            self.on_log_start_offset(log_start_offset)
            return
        self._producers.clear()
        self.transactions.clear()
        self.end_offset = self._snapshot_offset = self._load(log_start_offset, now_ms)

    def successor(self) -> ProducerState:
        """Return a copy that changes on its own, and writes no file before `take_place` is called."""
        successor = ProducerState.__new__(ProducerState)
        successor.end_offset = self.end_offset
        successor._snapshot_offset = self._snapshot_offset  # noqa: SLF001  of this class, as what follows
        successor._snapshots = PreparedSnapshots(self._snapshots)  # noqa: SLF001
        successor._expiration_ms = self._expiration_ms  # noqa: SLF001
        successor._producers = self._producers.copy()  # noqa: SLF001
        successor.transactions = self.transactions.copy()
        return successor

    def take_place(self) -> ProducerState:
        """Replace the files with this state's, and end the one that it was made from. Raises OSError."""
        self._snapshots = self._snapshots.carry_out()
        return self

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget everything and remove all snapshots. Raises OSError."""
        self._producers.clear()
        self.transactions.clear()
        self._snapshots.remove_all(self._snapshots.offsets)
        self._snapshot_offset = 0
        self.end_offset = offset

    # Snapshots -------------------------------------------------------------------------------------------------

    def snapshot(self) -> ProducerSnapshot:
        """Return the state as a snapshot keeps it."""
        return ProducerSnapshot(tuple(producer.entry() for producer in self._producers.values()))

    def take_snapshot(self, *, sync: bool = True) -> Path | None:
        """Write the state to `{end_offset:020d}.snapshot`, unless the last snapshot is as new. Raises OSError.

        Without `sync` it is on stable storage only once `sync_snapshot` has returned.
        """
        if self.end_offset <= self._snapshot_offset:
            return None
        path = self._snapshots.write(self.end_offset, self.snapshot(), sync=sync)
        self._snapshot_offset = self.end_offset
        return path

    def sync_snapshot(self, offset: int) -> None:
        """Put the snapshot at `offset` on stable storage. Raises OSError."""
        self._snapshots.sync(offset)

    def delete_snapshot(self, offset: int) -> None:
        """Remove the snapshot at `offset`, if there is one: its segment is deleted. Raises OSError."""
        self._snapshots.remove(offset)

    def delete_snapshots_before(self, offset: int) -> None:
        """Remove the snapshots below `offset`. Raises OSError."""
        self._snapshots.remove_all([each for each in self._snapshots.offsets if each < offset])

    def remove_stray_snapshots(self, segment_base_offsets: Collection[int]) -> None:
        """Remove snapshots that belong to no segment, but the newest of them above all segments. Raises OSError."""
        self._snapshots.remove_strays(segment_base_offsets)

    def _load(self, log_start_offset: int, now_ms: int) -> int:
        """Load the latest snapshot that can be read; return its offset, or the log's start without any."""
        while self._snapshots.latest is not None:
            offset = self._snapshots.latest
            try:
                entries = self._snapshots.read(offset).entries
            except CorruptSnapshotError:
                self._snapshots.remove(offset)
                continue
            known = [producers.producer.Producer.of(each) for each in entries]
            loaded = [each for each in known if not self._is_expired(each, now_ms)]
            self._producers = {each.producer_id: each for each in loaded}
            self.transactions.start(
                StartedTransaction(each.transaction_start, each.producer_id)
                for each in loaded
                if each.has_transaction()
            )
            return offset
        return log_start_offset

    def _is_expired(self, producer: Producer, now_ms: int) -> bool:
        return not producer.has_transaction() and now_ms - producer.timestamp >= self._expiration_ms
