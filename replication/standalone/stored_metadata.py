"""The metadata of a cluster whose only controller is in this process: a log as a quorum has it."""

from collections.abc import Callable, Sequence
from typing import Final

from epoch.filesystem import REAL
from logstore import Log
from logstore.clock import now_ms
from replication.metadata.batches import MetadataBatch
from replication.metadata.loading import load_snapshot
from replication.metadata.metadata_log import append_metadata, read_metadata
from replication.metadata.records import AbortTransactionRecord, MetadataRecord
from replication.metadata.transactions import Transactions
from replication.quorum.local_metadata import LocalMetadata


class StoredMetadata:
    """`__cluster_metadata-0`, written by one controller. Methods raise OSError and LogStoreError.

    What another controller has left in the log counts as committed: there is nobody who could say otherwise.
    """

    def __init__(self, log: Log) -> None:
        """Go on in a log, as the controller of a new epoch."""
        self._log: Final = log
        self._snapshot: Final = LocalMetadata(log, REAL).snapshot
        log.advance_high_watermark(log.log_end_offset)
        before = -1 if self._snapshot is None else self._snapshot.epoch
        latest = log.epochs.latest_epoch
        self.leader_epoch: Final = max(before, -1 if latest is None else latest) + 1
        """In which this controller writes."""

    @property
    def next_offset(self) -> int:
        """Where the next record is appended."""
        return self._log.log_end_offset

    def replay(self, replay: Callable[[MetadataBatch], None]) -> None:
        """Pass on all that counts, and end a transaction that was left open. Raises MetadataError.

        A snapshot counts as one batch, which ends where the log goes on.
        """
        begin, transactions = 0, Transactions()
        if self._snapshot is not None and not self._snapshot.is_bootstrap:
            loaded = load_snapshot(self._snapshot)
            begin = loaded.end_offset
            replay(MetadataBatch(0, begin - 1, loaded.epoch, 0, tuple(loaded.image.records())))
        for batch in read_metadata(self._log, begin):
            counting = transactions.take(batch)
            if counting is not None:
                replay(counting)
        if transactions.is_open:
            aborted = transactions.take(self.append([AbortTransactionRecord(reason="the controller has changed")]))
            if aborted is not None:
                replay(aborted)

    def append(self, records: Sequence[MetadataRecord], metadata_version: int | None = None) -> MetadataBatch:
        """Append records as one batch, which is on stable storage when this returns."""
        log, level = self._log, {} if metadata_version is None else {"metadata_version": metadata_version}
        now = now_ms()
        info = append_metadata(log, records, leader_epoch=self.leader_epoch, timestamp=now, **level)
        log.flush()
        log.advance_high_watermark(log.log_end_offset)
        return MetadataBatch(info.first_offset, info.last_offset, self.leader_epoch, now, tuple(records))
