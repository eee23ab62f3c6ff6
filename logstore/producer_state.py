"""What a log knows of its producers: to drop duplicates, and to tell readers what is committed (KIP-98).

Kafka: ProducerStateManager.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from epoch.filesystem import REAL, FileSystem
from logstore.append_origin import AppendOrigin
from logstore.batches import Batch
from logstore.producer_append import ProducerAppend
from logstore.transaction_index import AbortedTransaction

PRODUCER_EXPIRATION_MS: Final = 86_400_000
"""One day (Kafka: producer.id.expiration.ms)."""


class ProducerState:
    """The producers of one log, and their snapshot files in its directory. The log's lock guards it.

    append = state.prepare(batches, AppendOrigin.CLIENT)   # raises; append.duplicate: written before, answer with it
    ...                                                    # write the batches
    aborted = state.update(append)                         # entries to write to the active segment's .txnindex
    state.end_offset = log_end_offset
    """

    def __init__(
        self, directory: Path, *, filesystem: FileSystem = REAL, expiration_ms: int = PRODUCER_EXPIRATION_MS
    ) -> None:
        """Know nothing, but find the snapshot files; `reload` reads one. Raises OSError."""
        raise NotImplementedError

    end_offset: int
    """The log's end as far as its producers are known: set it after each append (Kafka: mapEndOffset)."""

    def prepare(self, batches: Iterable[Batch], origin: AppendOrigin) -> ProducerAppend:
        """Check what the batches' producers may write, changing nothing yet.

        Raises OutOfOrderSequenceError, InvalidProducerEpochError, InvalidTransactionStateError and
        TransactionCoordinatorFencedError. Without producer ids this costs next to nothing.
        """
        raise NotImplementedError

    def update(self, append: ProducerAppend) -> list[AbortedTransaction]:
        """Take over what was written; return the transactions that it aborted, for the transaction index."""
        raise NotImplementedError

    def replay(self, batch: Batch) -> list[AbortedTransaction]:
        """Take over a batch that is in the log already, `end_offset` included: recovery and truncation."""
        raise NotImplementedError

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the first transaction begins that is open, or whose end is not yet below the high watermark."""
        raise NotImplementedError

    @property
    def first_undecided_offset(self) -> int | None:
        """Where the first open transaction begins."""
        raise NotImplementedError

    def on_high_watermark(self, high_watermark: int) -> None:
        """Forget the ended transactions below it (Kafka: onHighWatermarkUpdated)."""
        raise NotImplementedError

    def on_log_start_offset(self, log_start_offset: int) -> None:
        """Follow the log's start as records are deleted (Kafka: onLogStartOffsetIncremented)."""
        raise NotImplementedError

    def expire(self, now_ms: int) -> None:
        """Forget producers that have not written for `expiration_ms` and have no open transaction."""
        raise NotImplementedError

    def take_snapshot(self, *, sync: bool) -> Path | None:
        """Write the state to `{end_offset:020d}.snapshot`, unless the last snapshot is as new. Raises OSError."""
        raise NotImplementedError

    def reload(self, log_start_offset: int, log_end_offset: int, now_ms: int) -> None:
        """Go back to the latest snapshot up to the log's end; replay what follows it (Kafka: truncateAndReload).

        Snapshots outside of the log are removed, damaged ones too. Afterwards `end_offset` says from where to replay.
        """
        raise NotImplementedError

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget everything and remove all snapshots."""
        raise NotImplementedError

    @property
    def latest_snapshot_offset(self) -> int | None:
        """Offset of the newest snapshot file."""
        raise NotImplementedError

    @property
    def oldest_snapshot_offset(self) -> int | None:
        """Offset of the oldest snapshot file."""
        raise NotImplementedError

    def delete_snapshots_before(self, offset: int) -> None:
        """Remove the snapshots below `offset`."""
        raise NotImplementedError

    def delete_snapshot(self, offset: int) -> None:
        """Remove the snapshot at `offset`, if there is one: its segment is deleted."""
        raise NotImplementedError

    def remove_stray_snapshots(self, segment_base_offsets: Collection[int]) -> None:
        """Remove snapshots that belong to no segment, but the newest of them above all segments."""
        raise NotImplementedError

    def is_empty(self) -> bool:
        """Whether no producer is known and no transaction waits for the high watermark."""
        raise NotImplementedError
