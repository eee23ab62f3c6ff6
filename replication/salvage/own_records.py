"""What the losing copies have and the kept one lacks: each record once, in the order in which leaders wrote them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import repeat
from typing import Final, NamedTuple

from logstore.batch.batches import Batch
from logstore.batch.record import Record
from replication.salvage.branch import Branch, ComparedCopy
from replication.salvage.held_records import HeldContents, HeldSequences, key_and_value, sent_content
from replication.salvage.reason import Reason
from replication.salvage.shared_batches import SharedBatches
from replication.salvage.transactions import Outcome

_KNOWN: Final = frozenset({None, Reason.RESENT, Reason.SAME})
"""What is found of records that are there once all is done: another copy's of the same numbers are not needed."""


class Found(NamedTuple):
    """A record of a branch, and why it is left out; None where nothing but its key may still be against it."""

    branch: Branch
    batch: Batch
    record: Record
    reason: Reason | None


@dataclass(slots=True)
class KeptRecords:
    """What the kept copy has beyond the first fork, as far as consumers get it or still may."""

    sequences: HeldSequences = field(default_factory=HeldSequences)
    undecided: HeldSequences = field(default_factory=HeldSequences)
    """Of transactions that are open there."""
    contents: HeldContents = field(default_factory=HeldContents)
    """Of producers that numbered their records anew."""
    keys_and_values: HeldContents = field(default_factory=HeldContents)

    @classmethod
    def read(
        cls, kept: ComparedCopy, start: int, renumbered: frozenset[int], *, by_key_and_value: bool
    ) -> "KeptRecords":
        """Read the headers, and the records only where their content is needed. Raises LogStoreError and OSError."""
        found = cls()
        for batch in kept.copy.last_batches(renumbered, start):
            found._add_contents(batch)
        for batch in kept.copy.batches(start):
            outcome = kept.transactions.outcome_of(batch)
            if batch.is_control or outcome is Outcome.ABORTED:
                continue
            (found.undecided if outcome is Outcome.OPEN else found.sequences).add(batch)
            is_renumbered = batch.producer_id in renumbered and not batch.is_transactional
            if outcome is Outcome.OPEN or not (is_renumbered or by_key_and_value):
                continue
            if is_renumbered:
                found._add_contents(batch)
            if by_key_and_value:
                for record in batch.records():
                    found.keys_and_values.add(key_and_value(record))
        return found

    def _add_contents(self, batch: Batch) -> None:
        for record in batch.records():
            self.contents.add(sent_content(batch.producer_id, record), batch.producer_epoch)


@dataclass(slots=True)
class OwnRecords:
    """The records of all branches; each pass over them decides the same."""

    branches: Sequence[Branch]
    kept: KeptRecords
    renumbered: frozenset[int]
    """Producers that began a new epoch by themselves: they sent again what was unacknowledged, numbered from 0 on."""
    by_key_and_value: bool

    def __iter__(self) -> Iterator[Found]:
        """Yield the records, in the order of their leader epochs and offsets. Raises LogStoreError and OSError."""
        walk = _Pass(self)
        streams = [zip(branch.batches(), repeat(branch)) for branch in self.branches]
        for batch, branch in merge(*streams, key=lambda each: (each[0].leader_epoch, each[0].base_offset)):
            yield from walk.records(branch, batch)


class _Pass:
    """One walk over all branches, which remembers what it has given."""

    def __init__(self, own: OwnRecords) -> None:
        self._own = own
        self._contents = own.kept.contents.copy()
        self._kept_values = own.kept.keys_and_values.copy()
        self._sequences = HeldSequences()
        start = min((branch.start for branch in own.branches), default=0)
        pairs = [(one, other) for one in own.branches for other in own.branches if one is not other]
        self._shared = {(one.name, other.name): SharedBatches(other.copy, start) for one, other in pairs}

    def records(self, branch: Branch, batch: Batch) -> Iterator[Found]:
        """Yield the records of a batch that no other branch gives."""
        reason = branch.reason(batch)
        givers = [other for other in self._own.branches if self._is_left_to(other, branch, batch, reason)]
        shared = [self._shared[branch.name, other.name] for other in givers]
        if any(each.holds(batch) for each in shared):
            return
        given = {record for each in shared for record in each.records(batch)}
        start = branch.copy.log.log_start_offset  # which may be within the batch, as the fork may be
        start = start if batch.is_transactional else max(start, branch.fork)
        may_be_held = reason is None and self._may_be_held(batch)
        is_known = False
        for record in batch.records():
            if record.offset < start or (given and record in given):
                continue
            found = self._held(batch, record) if may_be_held else reason
            is_known |= found in _KNOWN
            yield Found(branch, batch, record, found)
        if is_known and self._shared:
            self._sequences.add(batch)

    def _is_left_to(self, other: Branch, branch: Branch, batch: Batch, reason: Reason | None) -> bool:
        """Tell whether records that both have are the other's to give: who salvages them first, else the first one."""
        if other is branch or batch.base_offset >= branch.ends[other.name] or not other.concerns(batch):
            return False
        order = self._own.branches.index
        return (other.reason(batch) is not None, order(other)) < (reason is not None, order(branch))

    def _may_be_held(self, batch: Batch) -> bool:
        """Tell whether any of a batch's records may be held, which need not be asked of each record then."""
        kept = self._own.kept
        is_numbered_as_held = any(each.knows(batch) for each in (kept.sequences, self._sequences, kept.undecided))
        return is_numbered_as_held or batch.producer_id in self._own.renumbered or self._own.by_key_and_value

    def _held(self, batch: Batch, record: Record) -> Reason | None:
        kept = self._own.kept
        if kept.sequences.holds(batch, record.offset) or self._sequences.holds(batch, record.offset):
            return Reason.RESENT
        if kept.undecided.holds(batch, record.offset):
            return Reason.UNDECIDED
        if batch.producer_id in self._own.renumbered and not batch.is_transactional:
            content = sent_content(batch.producer_id, record)
            if self._contents.take(content, batch.producer_epoch):
                return Reason.RESENT
            self._contents.add(content, batch.producer_epoch)
        if self._own.by_key_and_value and self._kept_values.take(key_and_value(record)):
            return Reason.SAME
        return None
