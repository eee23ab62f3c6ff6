"""Transactions that are left out until somebody decides."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from typing import Final

import numpy as np

from replication.copies.salvage.branch import Branch
from replication.copies.salvage.columns.record_block import NUMBERS, REASONS, RecordBlock
from replication.copies.salvage.own_batches import TransactionName
from replication.copies.salvage.reason import IN_DOUBT, Reason

_IN_DOUBT: Final = sorted(NUMBERS[reason] for reason in IN_DOUBT)


@dataclass(slots=True)
class TransactionInDoubt:
    """A transaction that is left out: open, without all of its parts, or decided in one copy only."""

    source: str
    reason: Reason
    producer_id: int
    producer_epoch: int
    first_offset: int
    last_offset: int
    records: int = 0
    """Of it, beyond the fork."""


@dataclass(slots=True)
class DoubtfulTransactions:
    """Those of all branches, of which records are left out."""

    branches: Sequence[Branch]
    found: dict[TransactionName, TransactionInDoubt] = field(default_factory=dict)

    def note(self, block: RecordBlock) -> None:
        """Note the records of a block, whose reasons are all decided."""
        rows = np.flatnonzero(np.isin(block.reasons, _IN_DOUBT))
        for own, some in block.by_batch(rows[block.is_transactional(rows)]):
            name, batch = own.transaction, own.batch
            offsets, reason = block.records.offset[some], REASONS[block.reasons[some[0]]]
            producer = batch.producer_id, batch.producer_epoch
            first = TransactionInDoubt(own.branch.name, reason, *producer, name[2], int(offsets[0]))
            doubt = self.found.setdefault(name, first)
            doubt.last_offset = int(offsets[-1])
            doubt.records += len(some)

    def transactions(self) -> list[TransactionInDoubt]:
        """Give them, once all blocks were noted, and those of which no record is beyond the fork."""
        for branch in self.branches:
            for each in branch.undecided():
                name = branch.name, each.producer_id, each.first_offset
                self.found.setdefault(name, TransactionInDoubt(branch.name, Reason.UNDECIDED, *astuple(each)[:4]))
        return list(self.found.values())
