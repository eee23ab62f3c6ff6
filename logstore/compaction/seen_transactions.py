"""Which transactions' records compaction comes across, so that it drops those that were aborted, and old markers.

Kafka: CleanedTransactionMetadata.
"""

from collections.abc import Iterable
from heapq import heappop, heappush

from logstore.batch.batch import RecordBatch
from logstore.batch.control import ControlRecord, ControlType
from logstore.indexes.transaction_index import AbortedTransaction


class SeenTransactions:
    """The transactions that are open where the batches, which go by in order, have got to."""

    def __init__(self) -> None:
        """Know of no transaction."""
        self._to_come: list[tuple[int, AbortedTransaction]] = []
        """A heap of those that were aborted, by first offset."""
        self._aborted: dict[int, AbortedTransaction] = {}
        """Those that have begun, by producer."""
        self._aborted_with_records: set[int] = set()
        self._committed_with_records: set[int] = set()
        """The producers of which batches were seen since their last marker."""
        self._still_indexed: list[AbortedTransaction] = []
        """Those whose records were here until now, which readers may have: their index entries stay once more."""

    def add_aborted(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Add the transaction index's entries for batches to come; those that are known change nothing."""
        for transaction in aborted:
            heappush(self._to_come, (transaction.first_offset, transaction))

    def is_aborted(self, batch: RecordBatch) -> bool:
        """Note a batch of records; return whether its transaction was aborted."""
        self._begin_up_to(batch.last_offset)
        if not batch.is_transactional:
            return False
        is_aborted = batch.producer_id in self._aborted
        seen = self._aborted_with_records if is_aborted else self._committed_with_records
        seen.add(batch.producer_id)
        return is_aborted

    def is_spent(self, batch: RecordBatch) -> bool:
        """Note a control batch; return whether no record is left of the transaction that it ends.

        An empty one was dropped before, and only kept for what its header says. Raises what `RecordBatch.records`
        raises, and CorruptControlRecordError.
        """
        self._begin_up_to(batch.last_offset)
        record = next(batch.records(), None)
        if record is None:
            return True
        kind = ControlRecord.of(record).type
        if kind is ControlType.ABORT:
            return self._is_abort_spent(batch.producer_id)
        if kind is ControlType.COMMIT:
            return not _take(self._committed_with_records, batch.producer_id)
        return False

    def take_still_indexed(self) -> list[AbortedTransaction]:
        """Return the aborted transactions whose markers went by since the last call, and that had records left."""
        taken, self._still_indexed = self._still_indexed, []
        return taken

    def _is_abort_spent(self, producer_id: int) -> bool:
        aborted = self._aborted.pop(producer_id, None)
        if aborted is None or not _take(self._aborted_with_records, producer_id):
            return True
        self._still_indexed.append(aborted)
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._to_come and self._to_come[0][0] <= offset:
            _, transaction = heappop(self._to_come)
            self._aborted.setdefault(transaction.producer_id, transaction)


def _take(producers: set[int], producer_id: int) -> bool:
    """Remove a producer; return whether it was there."""
    was_there = producer_id in producers
    producers.discard(producer_id)
    return was_there
