"""The same anomalies by their definitions alone: slow, and without columns."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from replication.testing.history import AnomalyKind, Operation, Polled, Sent

Place = tuple[str, int]


class Seen(NamedTuple):
    """A record and the operation that it belongs to."""

    operation: int
    record: Sent | Polled


class NaiveCheck:
    """Counts the anomalies of a few operations."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = operations
        self.sent = [Seen(number, each) for number, op in enumerate(operations) for each in op.sent]
        self.polled = [Seen(number, each) for number, op in enumerate(operations) for each in op.polled]
        self.acknowledged = [
            each for each in self.sent if operations[each.operation].outcome == "ok" and each.record.offset is not None
        ]
        self.sender = {(each.record.partition, each.record.value): each for each in self.sent}

    def counts(self) -> Counter[AnomalyKind]:
        """Return how many anomalies there are of each kind, without circles."""
        found = Counter[AnomalyKind](self.singles())
        found.update(self.steps())
        return found

    def sender_of(self, read: Seen) -> Seen | None:
        return self.sender.get((read.record.partition, read.record.value))

    def counts_as_read(self, read: Seen) -> bool:
        """Return whether it was not of a failed operation."""
        sender = self.sender_of(read)
        return sender is None or self.operations[sender.operation].outcome != "failed"

    def is_read(self, sent: Seen) -> bool:
        return any(self.sender_of(read) == sent for read in self.polled)

    def is_passed(self, sent: Seen) -> bool:
        offset = sent.record.offset
        return (
            not self.is_read(sent)
            and offset is not None
            and any(
                read.record.partition == sent.record.partition and (read.record.offset or 0) > offset
                for read in self.polled
            )
        )

    def singles(self) -> Iterator[AnomalyKind]:
        at, where = defaultdict[object, set[object]](set), defaultdict[object, set[object]](set)
        for each in (*self.acknowledged, *self.polled):
            at[each.record.partition, each.record.offset].add(each.record.value)
            where[each.record.partition, each.record.value].add(each.record.offset)
        yield from (AnomalyKind.INCONSISTENT_OFFSETS for values in at.values() if len(values) > 1)
        yield from (AnomalyKind.DUPLICATE for offsets in where.values() if len(offsets) > 1)
        for read in self.polled:
            sender = self.sender_of(read)
            if sender is None:
                yield AnomalyKind.UNSENT_READ
            elif self.operations[sender.operation].outcome == "failed":
                yield AnomalyKind.ABORTED_READ
            if sender is not None and sender.operation == read.operation:
                yield AnomalyKind.PRECOMMITTED_READ
        for sent in self.sent:
            if self.operations[sent.operation].outcome != "ok":
                continue
            if self.is_passed(sent):
                yield AnomalyKind.LOST_WRITE
            elif not self.is_read(sent):
                yield AnomalyKind.UNSEEN
        for _, group in groupby(self.sent, lambda each: each.operation):
            records = list(group)
            if self.operations[records[0].operation].outcome == "failed":
                continue
            if any(map(self.is_read, records)) and any(map(self.is_passed, records)):
                yield AnomalyKind.FRACTURED_TRANSACTION

    def steps(self) -> Iterator[AnomalyKind]:
        for before, after in self._steps(self.polled, begins_anew=True):
            first, last = before.record.offset or 0, after.record.offset or 0
            within = before.operation == after.operation
            if last <= first:
                yield AnomalyKind.INT_NONMONOTONIC_POLL if within else AnomalyKind.NONMONOTONIC_POLL
            partition = before.record.partition
            others = (
                read.record for read in self.polled if read.record.partition == partition and self.counts_as_read(read)
            )
            if any(first < (other.offset or 0) < last for other in others):
                yield AnomalyKind.INT_POLL_SKIP if within else AnomalyKind.POLL_SKIP
            following = self.following(self.sender_of(before))
            if following is not None and first < following < last:
                yield AnomalyKind.INTERMEDIATE_READ
        for before, after in self._steps(self.acknowledged, begins_anew=False):
            if (after.record.offset or 0) <= (before.record.offset or 0):
                within = before.operation == after.operation
                yield AnomalyKind.INT_NONMONOTONIC_SEND if within else AnomalyKind.NONMONOTONIC_SEND

    def _steps(self, records: Sequence[Seen], *, begins_anew: bool) -> Iterator[tuple[Seen, Seen]]:
        kept = defaultdict[object, list[Seen]](list)
        era = Counter[object]()
        eras = []
        for operation in self.operations:
            era[operation.process] += operation.assigned and begins_anew
            eras.append(era[operation.process])
        for each in records:
            process = self.operations[each.operation].process
            kept[process, each.record.partition, eras[each.operation]].append(each)
        return (pair for group in kept.values() for pair in pairwise(group))

    def offset_of(self, sent: Seen) -> int | None:
        if sent.record.offset is not None:
            return sent.record.offset
        return next((read.record.offset for read in self.polled if self.sender_of(read) == sent), None)

    def following(self, sent: Seen | None) -> int | None:
        """Return the offset of the next record of a transaction in the partition."""
        if sent is None or self.operations[sent.operation].outcome == "failed":
            return None
        of_it = [s for s in self.sent if s.operation == sent.operation and s.record.partition == sent.record.partition]
        known = [(offset, number) for number, s in enumerate(of_it) if (offset := self.offset_of(s)) is not None]
        offset = self.offset_of(sent)
        if offset is None:
            return None
        own = (offset, of_it.index(sent))
        return min((each[0] for each in known if each > own), default=None)

    def has_ties(self) -> bool:
        """Whether two records that were sent lie at one offset."""
        known = [(each.record.partition, offset) for each in self.sent if (offset := self.offset_of(each)) is not None]
        return len(known) != len(set(known))

    def has_circle(self, *, flow: bool, order: bool) -> bool:
        """Whether operations are in a circle, by what they read, by where their records lie, or by either."""
        edges = defaultdict[int, set[int]](set)
        for read in self.polled if flow else ():
            sender = self.sender_of(read)
            if sender is not None:
                edges[sender.operation].add(read.operation)
        for one in self.sent if order else ():
            for other in self.sent:
                first, last = self.offset_of(one), self.offset_of(other)
                if first is None or last is None or one.record.partition != other.record.partition:
                    continue
                if first < last:
                    edges[one.operation].add(other.operation)
        failed = {number for number, each in enumerate(self.operations) if each.outcome == "failed"}
        edges = defaultdict(set, {n: to - failed - {n} for n, to in edges.items() if n not in failed})
        return any(_reaches(edges, node, node) for node in list(edges))


def _reaches(edges: dict[int, set[int]], start: int, end: int) -> bool:
    seen, waiting = set[int](), [start]
    while waiting:
        for other in edges.get(waiting.pop(), ()):
            if other == end:
                return True
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return False
