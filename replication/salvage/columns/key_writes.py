"""Who wrote which key last on which side of a fork."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batches import Batch
from logstore.kernels.digest import digest_key
from logstore.offline.columns.column_reader import Chunk
from replication.salvage.branch import Branch, ComparedCopy
from replication.salvage.columns.batch_run import decoded, in_runs
from replication.salvage.columns.key_write import KeyWrite, key_of
from replication.salvage.columns.record_block import RecordBlock, Rows
from replication.salvage.own_batches import OwnBatches
from replication.salvage.transactions import Outcome

Digests = NDArray[np.uint64]
"""Of keys; equal keys have equal ones, and hardly any others have."""


@dataclass(slots=True)
class KeyWrites:
    """The last writes of the keys that may be superseded or in conflict: no others are made into objects."""

    branches: Sequence[Branch] = ()
    suspects: Digests = field(default_factory=lambda: np.empty(0, np.uint64))
    """Of those keys, sorted."""
    kept: Mapping[bytes, KeyWrite] = field(default_factory=dict)
    losing: Mapping[str, Mapping[bytes, KeyWrite]] = field(default_factory=dict)
    """By copy."""

    @classmethod
    def read(cls, kept: ComparedCopy, own: OwnBatches, *, is_compacted: bool) -> "KeyWrites":
        """Read all own records, and from the kept copy what consumers get. Raises LogStoreError and OSError."""
        branches = own.branches
        start = min((branch.start for branch in branches), default=0)
        is_kept_written = next(_visible(kept, start), None) is not None
        if not (is_compacted or len(branches) > 1 or is_kept_written):
            return cls()
        written = _written(own)
        each_once = list(map(_each_once, written.values()))
        digests, on_both = _on_both(kept, start, _each_once(_joined(each_once)))
        several = list(written.values()) if is_compacted else []
        suspects = _each_once(_joined([digests, _repeated(_joined(each_once)), *map(_repeated, several)]))
        return cls(branches, suspects, on_both, _last_writes(own, suspects))

    def rows(self, block: RecordBlock) -> Rows:
        """Return the rows of a block whose keys have to be looked at."""
        if not len(self.suspects):
            return np.empty(0, np.int64)
        return _among(block, self.suspects)

    def is_last(self, branch: Branch, offset: int, key: bytes) -> bool:
        """Tell whether no losing copy goes on from the record at `offset` with a later one of the key."""
        if self.losing[branch.name][key].offset > offset:
            return False
        return not any(
            offset < branch.ends[other.name] and (last := self.losing[other.name].get(key)) and last.offset > offset
            for other in self.branches
            if other is not branch
        )

    def against(self, branch: Branch, offset: int, key: bytes) -> list[KeyWrite]:
        """Return the last writes of the key in copies that diverge from a record at `offset`; the kept one's first."""
        found = []
        kept = self.kept.get(key)
        if kept and kept.offset >= min(branch.fork, offset):
            found.append(kept)
        for other in self.branches:
            end = branch.ends.get(other.name)
            last = self.losing[other.name].get(key)
            if other is not branch and end is not None and last and last.offset >= end and offset >= end:
                found.append(last)
        return found


def _written(own: OwnBatches) -> dict[str, Digests]:
    """Digest the keys of all own records about which nothing is decided yet, by copy."""
    found: dict[str, list[Digests]] = {branch.name: [] for branch in own.branches}
    for block in RecordBlock.read(own):
        found[block.branch.name].append(digest_key(block.records.take(block.keyed())))
    return {name: _joined(digests) for name, digests in found.items()}


def _on_both(kept: ComparedCopy, start: int, written: Digests) -> tuple[Digests, dict[bytes, KeyWrite]]:
    """Return the kept copy's last writes of keys that the losing ones wrote, and the digests of those."""
    last: dict[bytes, KeyWrite] = {}
    found = []
    for run in in_runs(_visible(kept, start), lambda batch: (batch.file,)):
        for chunk in decoded(run):
            records = chunk.records
            digests = digest_key(records)
            rows = np.flatnonzero((records.key_length >= 0) & _is_in(digests, written))
            found.append(_each_once(digests[rows]))
            last.update((key_of(records, row), KeyWrite.of(kept.name, chunk, row)) for row in rows.tolist())
    return _each_once(_joined(found)), last


def _visible(kept: ComparedCopy, start: int) -> Iterator[Batch]:
    """Walk over the batches that consumers get."""
    for batch in kept.copy.batches(start):
        if not batch.is_control and kept.transactions.outcome_of(batch) is Outcome.COMMITTED:
            yield batch


def _last_writes(own: OwnBatches, suspects: Digests) -> dict[str, dict[bytes, KeyWrite]]:
    last: dict[str, dict[bytes, KeyWrite]] = {branch.name: {} for branch in own.branches}
    for block in RecordBlock.read(own) if len(suspects) else ():
        chunk, name = Chunk(block.records, block.batches), block.branch.name
        rows = _among(block, suspects).tolist()
        last[name].update((key_of(block.records, row), KeyWrite.of(name, chunk, row)) for row in rows)
    return last


def _among(block: RecordBlock, suspects: Digests) -> Rows:
    rows = block.keyed()
    return rows[_is_in(digest_key(block.records.take(rows)), suspects)]


def _is_in(digests: Digests, known: Digests) -> NDArray[np.bool_]:
    """Tell which of the digests are known; those are sorted."""
    if not len(known):
        return np.zeros(len(digests), np.bool_)
    places = np.minimum(np.searchsorted(known, digests), len(known) - 1)
    found: NDArray[np.bool_] = known[places] == digests
    return found


def _each_once(digests: Digests) -> Digests:
    """Sort them, and keep one of those that are equal: twenty times as fast as `np.unique`, which hashes integers."""
    ordered = np.sort(digests)
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def _repeated(digests: Digests) -> Digests:
    """Return those that are there more than once."""
    ordered = np.sort(digests)
    repeated: Digests = ordered[1:][ordered[1:] == ordered[:-1]]
    return repeated


def _joined(parts: Iterable[Digests]) -> Digests:
    return np.concatenate([np.empty(0, np.uint64), *parts])
