"""Who wrote which key last on which side of a fork."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from logstore.batch.batches import Batch
from logstore.batch.record import Record
from replication.salvage.branch import Branch, ComparedCopy
from replication.salvage.own_records import Found
from replication.salvage.transactions import Outcome

MOST_OF_VALUE: Final = 64
"""Bytes of a value that are remembered, for somebody to know it by: its record's place is there to read all of it."""


class KeyWrite(NamedTuple):
    """The last record of a key in one copy."""

    source: str
    leader_epoch: int
    offset: int
    timestamp: int
    value: bytes | None
    """Its first bytes, `MOST_OF_VALUE` at most; None for a tombstone."""
    value_size: int | None
    """Bytes of the whole value."""

    @classmethod
    def of(cls, source: str, batch: Batch, record: Record) -> "KeyWrite":
        """Take a record, and of its value the first bytes."""
        start, size = (None, None) if record.value is None else (record.value[:MOST_OF_VALUE], len(record.value))
        return cls(source, batch.leader_epoch, record.offset, record.timestamp, start, size)


@dataclass(slots=True)
class KeyWrites:
    """The last writes of keys: of the losing copies' own records, and of the kept copy's where both wrote one."""

    kept: Mapping[bytes, KeyWrite]
    losing: Mapping[str, Mapping[bytes, KeyWrite]]
    """By copy."""
    branches: Sequence[Branch] = field(default=())

    @classmethod
    def read(cls, kept: ComparedCopy, branches: Sequence[Branch], own: Iterable[Found]) -> "KeyWrites":
        """Read all own records, and from the kept copy what consumers get. Raises LogStoreError and OSError."""
        losing: dict[str, dict[bytes, KeyWrite]] = {branch.name: {} for branch in branches}
        for branch, batch, record, reason in own:
            if reason is None and record.key is not None:
                losing[branch.name][record.key] = KeyWrite.of(branch.name, batch, record)
        written = {key for keys in losing.values() for key in keys}
        on_both: dict[bytes, KeyWrite] = {}
        if written:
            for batch in kept.copy.batches(min(branch.start for branch in branches)):
                if not batch.is_control and kept.transactions.outcome_of(batch) is Outcome.COMMITTED:
                    on_both.update(
                        (record.key, KeyWrite.of(kept.name, batch, record))
                        for record in batch.records()
                        if record.key in written
                    )
        return cls(on_both, losing, branches)

    def may_clash(self) -> bool:
        """Tell whether two copies have a key at all: then each record has to be looked at."""
        return bool(self.kept) or sum(map(bool, self.losing.values())) > 1

    def is_last(self, branch: Branch, record: Record, key: bytes) -> bool:
        """Tell whether no losing copy goes on from this record with a later one of the key."""
        if self.losing[branch.name][key].offset > record.offset:
            return False
        return not any(
            record.offset < branch.ends[other.name]
            and (last := self.losing[other.name].get(key))
            and last.offset > record.offset
            for other in self.branches
            if other is not branch
        )

    def against(self, branch: Branch, record: Record, key: bytes) -> list[KeyWrite]:
        """Return the last writes of the key in copies that diverge from this record's; the kept one's first."""
        found = []
        kept = self.kept.get(key)
        if kept and kept.offset >= min(branch.fork, record.offset):
            found.append(kept)
        for other in self.branches:
            end = branch.ends.get(other.name)
            last = self.losing[other.name].get(key)
            if other is not branch and end is not None and last and last.offset >= end and record.offset >= end:
                found.append(last)
        return found
