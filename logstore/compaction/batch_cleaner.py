"""What compaction keeps of a batch, decided from the batches that went by and the latest offset of each key."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import NO_PRODUCER_ID
from logstore.compaction.cleaned_batch import batch_of, emptied
from logstore.compaction.offset_map import OffsetMap
from logstore.compaction.record_section import StoredRecord, stored_records
from logstore.compaction.seen_transactions import SeenTransactions


class LastBatch(NamedTuple):
    """What a producer that is still known wrote last (Kafka: LastRecord)."""

    last_offset: int | None
    """Of its last batch of records; None where only a marker is known."""
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class BatchCleaner:
    """The rules of one compaction (Kafka: Cleaner.cleanInto)."""

    offsets: OffsetMap
    transactions: SeenTransactions
    now_ms: int
    delete_retention_ms: int
    kept_end: int
    """The batch that ends before this offset is kept even empty, so that it can still be found where the log ends."""
    expiry_ms: int | None = None
    """By which tombstones and markers go; None for the same time, by which they begin to wait for that."""

    def clean(self, batch: RecordBatch, last_batches: Mapping[int, LastBatch]) -> bytearray | memoryview | None:
        """Return what is kept of a batch: its own bytes, others in their place, or None.

        To be called with all batches in order. `last_batches` are those of the producers that are still known. Raises
        as `RecordBatch.records` does.
        """
        is_marker, transactions = batch.is_control, self.transactions
        is_done = transactions.is_spent(batch) if is_marker else transactions.is_aborted(batch)
        is_dropped = is_done and (not is_marker or self._is_past_horizon(batch))
        kept, count = ([], 0) if is_dropped else self._kept_records(batch)
        if not kept:
            return emptied(batch) if self._is_kept_empty(batch, last_batches) else None
        waits = any(record.is_tombstone for record in kept) or (is_marker and is_done)
        begins_to_wait = waits and not batch.has_delete_horizon
        if len(kept) == count and not begins_to_wait:
            return batch.data[batch.position : batch.position + batch.size]
        if begins_to_wait:
            return batch_of(batch, kept, self.now_ms + self.delete_retention_ms)
        return batch_of(batch, kept, batch.base_timestamp if batch.has_delete_horizon else None)

    def _kept_records(self, batch: RecordBatch) -> tuple[list[StoredRecord], int]:
        """Return the records that are kept, and how many there were."""
        keeps_tombstones = not self._is_past_horizon(batch)
        kept: list[StoredRecord] = []
        count = 0
        for each in stored_records(batch):
            count += 1
            if batch.is_control or self._is_kept(each, keeps_tombstones=keeps_tombstones):
                kept.append(each)
        return kept, count

    def _is_kept(self, record: StoredRecord, *, keeps_tombstones: bool) -> bool:
        """Whether it is its key's latest record, and no tombstone that has been there for long enough."""
        if record.offset > self.offsets.latest_offset:
            return True
        if record.key is None or record.offset < self.offsets.latest(record.key):
            return False
        return keeps_tombstones or not record.is_tombstone

    def _is_past_horizon(self, batch: RecordBatch) -> bool:
        expiry_ms = self.now_ms if self.expiry_ms is None else self.expiry_ms
        return batch.has_delete_horizon and batch.base_timestamp <= expiry_ms

    def _is_kept_empty(self, batch: RecordBatch, last_batches: Mapping[int, LastBatch]) -> bool:
        """Whether the header alone is worth keeping: for where the log ends, or for what a producer wrote last."""
        if batch.last_offset + 1 == self.kept_end:
            return True
        last = last_batches.get(batch.producer_id) if batch.producer_id != NO_PRODUCER_ID else None
        if last is None:
            return False
        if last.last_offset is not None:
            return batch.last_offset == last.last_offset
        return batch.is_control and batch.producer_epoch == last.producer_epoch
