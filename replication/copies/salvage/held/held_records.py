"""Which records are held already: by what their producers numbered, and by their content."""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import blake2b

from logstore.batch.any_batch import Batch
from logstore.batch.batch_attributes import NO_PRODUCER_EPOCH
from logstore.batch.record import Record
from replication.copies.salvage.salvaged_record import sequence_of, sequences_of


class Part(IntEnum):
    """How much of a batch is held already."""

    NONE = 0
    SOME = 1
    ALL = 2


@dataclass(slots=True)
class SequenceRanges:
    """The sequence numbers of one producer in one epoch, as ranges that do not touch."""

    firsts: list[int] = field(default_factory=list)
    lasts: list[int] = field(default_factory=list)

    def add(self, first: int, last: int) -> None:
        """Add the numbers from `first` to `last`."""
        start = bisect_right(self.lasts, first - 2)
        end = bisect_right(self.firsts, last + 1)
        if start < end:
            first, last = min(first, self.firsts[start]), max(last, self.lasts[end - 1])
        self.firsts[start:end], self.lasts[start:end] = [first], [last]

    def part_of(self, first: int, last: int) -> Part:
        """Return whether all, some or none of the numbers from `first` to `last` are in a range."""
        number = bisect_right(self.firsts, last) - 1
        if number < 0 or self.lasts[number] < first:
            return Part.NONE
        return Part.ALL if self.firsts[number] <= first and last <= self.lasts[number] else Part.SOME


@dataclass(slots=True)
class HeldSequences:
    """Batches of idempotent producers, by the numbers that stay the same when a batch is sent again."""

    ranges: dict[tuple[int, int], SequenceRanges] = field(default_factory=lambda: defaultdict(SequenceRanges))

    def add(self, batch: Batch) -> None:
        """Add a batch."""
        for first, last in sequences_of(batch):
            self.ranges[batch.producer_id, batch.producer_epoch].add(first, last)

    def part_of(self, batch: Batch) -> Part:
        """Return whether all, some or none of a batch's records are in added batches, as far as its header shows."""
        ranges = self.ranges.get((batch.producer_id, batch.producer_epoch))
        if ranges is None:
            return Part.NONE
        parts = {ranges.part_of(first, last) for first, last in sequences_of(batch)} or {Part.NONE}
        return parts.pop() if len(parts) == 1 else Part.SOME

    def holds(self, batch: Batch, offset: int) -> bool:
        """Whether a batch that was added has the record that `batch` has at `offset`."""
        ranges = self.ranges.get((batch.producer_id, batch.producer_epoch))
        sequence = sequence_of(batch, offset)
        return ranges is not None and ranges.part_of(sequence, sequence) is Part.ALL


@dataclass(slots=True)
class HeldContents:
    """Records by their content, each of which stands for one that is equal, and the epochs of their producers."""

    left: dict[bytes, list[int]] = field(default_factory=dict)

    def add(self, content: bytes, producer_epoch: int = NO_PRODUCER_EPOCH) -> None:
        """Add a record."""
        self.left.setdefault(content, []).append(producer_epoch)

    def take(self, content: bytes, producer_epoch: int | None = None) -> bool:
        """Return whether an equal one of another epoch of its producer is left, and use it up."""
        epochs = self.left.get(content, [])
        other = next((each for each in epochs if each != producer_epoch), None)
        if other is None:
            return False
        epochs.remove(other)
        return True

    def copy(self) -> "HeldContents":
        """Return what is left, to be used up independently."""
        return HeldContents({content: list(epochs) for content, epochs in self.left.items()})


def sent_content(producer_id: int, record: Record) -> bytes:
    """Digest what a producer sent, which stays the same when it numbers its records anew under a new epoch."""
    headers = [part for key, value in record.headers for part in (key.encode(), value)]
    return _digest(b"%d %d" % (producer_id, record.timestamp), record.key, record.value, *headers)


def key_and_value(record: Record) -> bytes:
    """Digest a record's key and value."""
    return _digest(record.key, record.value)


def _digest(*parts: bytes | None) -> bytes:
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(b"-" if part is None else b"%d:" % len(part))
        digest.update(part or b"")
    return digest.digest()
