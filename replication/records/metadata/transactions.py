"""Transactions of metadata: records of several batches that count together or not at all (KIP-868)."""

from collections.abc import Iterable, Iterator

from replication.records.metadata.batches import MetadataBatch
from replication.records.metadata.errors import InvalidReplayError
from replication.records.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
)


def committed(batches: Iterable[MetadataBatch]) -> Iterator[MetadataBatch]:
    """Give what counts of the batches of a log, as `Transactions` does; a transaction left open is not given."""
    transactions = Transactions()
    for batch in batches:
        counting = transactions.take(batch)
        if counting is not None:
            yield counting


class Transactions:
    """Holds records back until it is known whether they count."""

    def __init__(self) -> None:
        """Begin outside of any transaction."""
        self._base_offset: int | None = None
        self._counting: list[MetadataRecord] = []
        self._open: list[MetadataRecord] | None = None

    @property
    def is_open(self) -> bool:
        """Whether a transaction has begun and not ended."""
        return self._open is not None

    def take(self, batch: MetadataBatch) -> MetadataBatch | None:
        """Return what counts up to the end of the batch: None as long as a transaction is open.

        A transaction that ends comes as one batch that spans all of its batches, without the records that frame it.
        Raises InvalidReplayError for an end without a beginning, and for a second beginning.
        """
        if self._base_offset is None:
            self._base_offset = batch.base_offset
        for offset, record in enumerate(batch.records, batch.base_offset):
            self._take_record(record, offset)
        if self._open is not None:
            return None
        counting = batch._replace(base_offset=self._base_offset, records=tuple(self._counting))
        self._base_offset = None
        self._counting.clear()
        return counting

    def _take_record(self, record: MetadataRecord, offset: int) -> None:
        match record:
            case BeginTransactionRecord():
                if self._open is not None:
                    raise InvalidReplayError("a transaction begins inside another", offset=offset)
                self._open = []
            case EndTransactionRecord():
                self._counting += self._ended(offset)
            case AbortTransactionRecord():
                self._ended(offset)
            case _:
                (self._counting if self._open is None else self._open).append(record)

    def _ended(self, offset: int) -> list[MetadataRecord]:
        records, self._open = self._open, None
        if records is None:
            raise InvalidReplayError("a transaction ends that has not begun", offset=offset)
        return records
