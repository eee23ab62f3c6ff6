"""Records of one branch as columns, and why each is left out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch_attributes import TRANSACTIONAL_BIT
from logstore.batch.columns import BatchColumns, RecordColumns
from logstore.batch.layout import MAGIC
from replication.copies.salvage.branch import Branch
from replication.copies.salvage.columns.batch_run import decoded, in_runs
from replication.copies.salvage.own_batches import OwnBatch
from replication.copies.salvage.reason import Reason

REASONS: Final = tuple(Reason)
"""By their numbers in columns."""
SALVAGED: Final = -1
"""Stands for no reason."""
NUMBERS: Final[Mapping[Reason | None, int]] = {
    None: SALVAGED,
    **{reason: number for number, reason in enumerate(REASONS)},
}
_ELSEWHERE: Final = -2
"""Stands for a record that another branch gives."""

Rows = NDArray[np.int64]


@dataclass(slots=True, eq=False)
class RecordBlock:
    """Some thousand records of batches that follow each other."""

    branch: Branch
    own: Sequence[OwnBatch]
    batches: BatchColumns
    """Headers of `own`, a row each."""
    records: RecordColumns
    reasons: NDArray[np.int8]
    """Numbers of `REASONS`, or `SALVAGED`; a row a record."""

    @classmethod
    def read(cls, batches: Iterable[OwnBatch]) -> "Iterator[RecordBlock]":
        """Decode batches, in their order. Raises LogStoreError and OSError."""
        for run in in_runs(batches, lambda each: (each.branch.name, each.batch.file)):
            of_batches = np.array([NUMBERS[each.reason] for each in run], np.int8)
            mixed = {row: each.parts for row, each in enumerate(run) if each.parts is not None}
            for records, columns in decoded([each.batch for each in run]):
                block = cls(run[0].branch, run, columns, records, of_batches[records.batch])
                yield block._divided(mixed) if mixed else block

    def __len__(self) -> int:
        return len(self.records)

    def take(self, rows: Rows) -> "RecordBlock":
        """Return the records in these rows."""
        return RecordBlock(self.branch, self.own, self.batches, self.records.take(rows), self.reasons[rows])

    @property
    def epochs(self) -> NDArray[np.int32]:
        """The leader epoch of each record."""
        return self.batches.leader_epoch[self.records.batch]

    def keyed(self) -> Rows:
        """Return the rows of records that have a key, and about which nothing is decided yet."""
        return np.flatnonzero((self.reasons == SALVAGED) & (self.records.key_length >= 0))

    def is_transactional(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows are of batches of transactions."""
        of_batches = (self.batches.attributes & TRANSACTIONAL_BIT != 0) & (self.batches.magic == MAGIC)
        found: NDArray[np.bool_] = of_batches[self.records.batch[rows]]
        return found

    def own_of(self, row: int) -> OwnBatch:
        """Return the batch of a record."""
        return self.own[int(self.records.batch[row])]

    def transactions(self) -> NDArray[np.int64]:
        """Return where the transaction of each batch begins that has records here, else -1; a row a batch."""
        firsts = np.full(len(self.own), -1, np.int64)
        if self.branch.transactions.by_producer:
            for row in np.unique(self.records.batch).tolist():
                firsts[row] = self.branch.first_of_transaction(self.own[row].batch)
        return firsts

    def by_batch(self, rows: Rows) -> Iterator[tuple[OwnBatch, Rows]]:
        """Divide rows by the batches that they are of."""
        for some in np.split(rows, np.flatnonzero(np.diff(self.records.batch[rows])) + 1):
            if len(some):
                yield self.own_of(int(some[0])), some

    def _divided(self, mixed: Mapping[int, Mapping[int, Reason | None]]) -> "RecordBlock":
        """Decide about batches whose records are not all left out for one reason."""
        for row in np.flatnonzero(np.isin(self.records.batch, list(mixed))).tolist():
            parts, offset = mixed[int(self.records.batch[row])], int(self.records.offset[row])
            self.reasons[row] = NUMBERS[parts[offset]] if offset in parts else _ELSEWHERE
        return self.take(np.flatnonzero(self.reasons != _ELSEWHERE))
