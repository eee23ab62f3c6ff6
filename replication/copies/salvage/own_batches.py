"""What the losing copies have and the kept one lacks: each record once, in the order in which leaders wrote them.

Headers decide about most batches as a whole; only where they do not are records made.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from heapq import merge
from itertools import repeat
from typing import Final, NamedTuple

from logstore.batch.any_batch import Batch
from logstore.batch.record import Record
from logstore.topic_partition import TopicPartition
from replication.copies.salvage.branch import Branch, ComparedCopy
from replication.copies.salvage.held.held_records import HeldContents, HeldSequences, Part, key_and_value, sent_content
from replication.copies.salvage.held.provenance import earlier_places
from replication.copies.salvage.held.shared_batches import SharedBatches
from replication.copies.salvage.reason import Reason
from replication.copies.salvage.transactions import Outcome

_KNOWN: Final = frozenset({None, Reason.RESENT, Reason.SAME})
"""What is found of records that are there once all is done: another copy's of the same numbers are not needed."""


TransactionName = tuple[str, int, int]
"""A copy, a producer and the transaction's first offset."""


MOST_REMEMBERED: Final = 100_000
"""Batches, and records of those about which headers alone do not decide: some 50 MB."""


class OwnBatch(NamedTuple):
    """A batch of a branch, and why its records are left out; None where nothing but their keys may be against them."""

    branch: Branch
    batch: Batch
    reason: Reason | None
    parts: Mapping[int, Reason | None] | None = None
    """The same of each record by its offset, where it is not the same of all; of those that it lacks others have more.

    None where `reason` is that of all.
    """

    @property
    def transaction(self) -> TransactionName:
        """The name of the transaction that it is of."""
        return self.branch.name, self.batch.producer_id, self.branch.first_of_transaction(self.batch)


@dataclass(slots=True)
class KeptRecords:
    """What the kept copy has beyond the first fork, as far as consumers get it or still may."""

    sequences: HeldSequences = field(default_factory=HeldSequences)
    undecided: HeldSequences = field(default_factory=HeldSequences)
    """Of transactions that are open there."""
    contents: HeldContents = field(default_factory=HeldContents)
    """Of producers that numbered their records anew."""
    keys_and_values: HeldContents = field(default_factory=HeldContents)
    written: set[tuple[int, int]] = field(default_factory=set)
    """Leader epochs and offsets of records that an earlier run has written there, known where values are compared."""

    @classmethod
    def read(
        cls,
        partition: TopicPartition,
        cluster_id: str | None,
        kept: ComparedCopy,
        start: int,
        renumbered: frozenset[int],
        *,
        by_key_and_value: bool,
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
                    found._add_value(record, partition, cluster_id)
        return found

    def _add_value(self, record: Record, partition: TopicPartition, cluster_id: str | None) -> None:
        """Add what may be sent again, or the places it is from if it was salvaged: only those are there then."""
        places = [each for each in earlier_places(record.headers, partition) if each.is_of(partition, cluster_id)]
        if places:
            self.written.update((each.leader_epoch, each.offset) for each in places)
        else:
            self.keys_and_values.add(key_and_value(record))

    def _add_contents(self, batch: Batch) -> None:
        for record in batch.records():
            self.contents.add(sent_content(batch.producer_id, record), batch.producer_epoch)


@dataclass(slots=True)
class OwnBatches:
    """The batches of all branches; each pass over them decides the same."""

    branches: Sequence[Branch]
    kept: KeptRecords
    renumbered: frozenset[int]
    """Producers that began a new epoch by themselves: they sent again what was unacknowledged, numbered from 0 on."""
    by_key_and_value: bool
    _remembered: list[OwnBatch] | None = None
    """What a pass has found, where that was little: the next ones find the same."""

    def __iter__(self) -> Iterator[OwnBatch]:
        """Yield the batches, in the order of their leader epochs and offsets. Raises LogStoreError and OSError."""
        return self._pass() if self._remembered is None else iter(self._remembered)

    def _pass(self) -> Iterator[OwnBatch]:
        walk = _Pass(self)
        found: list[OwnBatch] = []
        size = 0
        streams = [zip(branch.batches(), repeat(branch)) for branch in self.branches]
        for batch, branch in merge(*streams, key=lambda each: (each[0].leader_epoch, each[0].base_offset)):
            if (judged := walk.judged(branch, batch)) is not None:
                size += 1 if judged.parts is None else len(judged.parts)
                if size <= MOST_REMEMBERED:
                    found.append(judged)
                yield judged
        if size <= MOST_REMEMBERED:
            self._remembered = found


class _Pass:
    """One walk over all branches, which remembers what it has given."""

    def __init__(self, own: OwnBatches) -> None:
        self._own = own
        self._contents = own.kept.contents.copy()
        self._kept_values = own.kept.keys_and_values.copy()
        self._sequences = HeldSequences()
        start = min((branch.start for branch in own.branches), default=0)
        pairs = [(one, other) for one in own.branches for other in own.branches if one is not other]
        self._shared = {(one.name, other.name): SharedBatches(other.copy, start) for one, other in pairs}
        self._log_starts = {branch.name: branch.copy.log.log_start_offset for branch in own.branches}
        self._forks = {branch.name: max(branch.fork, self._log_starts[branch.name]) for branch in own.branches}

    def judged(self, branch: Branch, batch: Batch) -> OwnBatch | None:
        """Judge the records of a batch that no other branch gives; None where there are none."""
        reason = branch.reason(batch)
        given: AbstractSet[Record] = frozenset()
        if self._shared:
            givers = [other for other in self._own.branches if self._is_left_to(other, branch, batch, reason)]
            shared = [self._shared[branch.name, other.name] for other in givers]
            if any(each.holds(batch) for each in shared):
                return None
            given = {record for each in shared for record in each.records(batch)}
        # The log's start may be within the batch, as the fork may be.
        start = (self._log_starts if batch.is_transactional else self._forks)[branch.name]
        is_mixed = False
        if reason is None:
            reason, is_mixed = self._by_header(batch)
        parts: dict[int, Reason | None] | None = None
        if is_mixed or given or batch.base_offset < start:
            wanted = (each for each in batch.records() if each.offset >= start and each not in given)
            parts = {each.offset: self._by_record(batch, each) if is_mixed else reason for each in wanted}
        if self._shared and not _KNOWN.isdisjoint([reason] if parts is None else parts.values()):
            self._sequences.add(batch)
        return OwnBatch(branch, batch, reason if parts is None else None, parts)

    def _is_left_to(self, other: Branch, branch: Branch, batch: Batch, reason: Reason | None) -> bool:
        """Whether records that both have are left to the other, which salvages them first or else is the first one."""
        if other is branch or batch.base_offset >= branch.ends[other.name] or not other.concerns(batch):
            return False
        order = self._own.branches.index
        return (other.reason(batch) is not None, order(other)) < (reason is not None, order(branch))

    def _by_header(self, batch: Batch) -> tuple[Reason | None, bool]:
        """Return why all records of a batch are left out, and whether instead each has to be looked at."""
        kept = self._own.kept
        known = kept.sequences.part_of(batch), self._sequences.part_of(batch), kept.undecided.part_of(batch)
        if Part.ALL in known[:2]:
            return Reason.RESENT, False
        if known == (Part.NONE, Part.NONE, Part.ALL):
            return Reason.UNDECIDED, False
        return None, Part.SOME in known or self._is_renumbered(batch) or self._own.by_key_and_value

    def _by_record(self, batch: Batch, record: Record) -> Reason | None:
        kept = self._own.kept
        if kept.sequences.holds(batch, record.offset) or self._sequences.holds(batch, record.offset):
            return Reason.RESENT
        if kept.undecided.holds(batch, record.offset):
            return Reason.UNDECIDED
        if self._is_renumbered(batch):
            content = sent_content(batch.producer_id, record)
            if self._contents.take(content, batch.producer_epoch):
                return Reason.RESENT
            self._contents.add(content, batch.producer_epoch)
        if (batch.leader_epoch, record.offset) in kept.written:
            return None  # it need not be taken for one that was sent again
        if self._own.by_key_and_value and self._kept_values.take(key_and_value(record)):
            return Reason.SAME
        return None

    def _is_renumbered(self, batch: Batch) -> bool:
        return batch.producer_id in self._own.renumbered and not batch.is_transactional
