"""What is lost once a replica leads: the distinct records that other copies have and its own has not."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import numpy as np

from replication.base.errors import CopyUnreadableError
from replication.copies.audit.comparison.batch_reader import BatchReader
from replication.copies.audit.comparison.batch_rows import Batches
from replication.copies.audit.comparison.comparison import Comparison, spans
from replication.copies.audit.comparison.difference_findings import odd_replicas
from replication.copies.audit.comparison.examined_copy import ExaminedCopy
from replication.copies.audit.comparison.gone_records import gone
from replication.copies.audit.comparison.record_tally import RecordSpan, RecordTally, clipped
from replication.copies.audit.comparison.unreadable_records import acknowledged_and_corrupt, unreadable
from replication.copies.audit.copy_summary import CopySummary, OffsetRange, merged
from replication.copies.audit.examination.range_digests import RANGE_BITS
from replication.copies.audit.judgement.acknowledged import Acknowledged, acknowledged
from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.snapshots.registered import Registered

LAST: Final = 2**63 - 2
"""The largest last offset of what may be lost: its end is an offset too."""
EMPTY: Final = ""
"""Stands for a leader that has no copy, and begins with an empty log."""

Comparisons = Mapping[frozenset[str], Comparison]


@dataclass(frozen=True, slots=True)
class Loss:
    """What is lost under one leader, each record counted once, however many copies have it."""

    lost: RecordSpan
    """What some copy has and the leader's has not: truncated, or never read again."""
    acknowledged: RecordSpan
    """Those of them that are known to have been acknowledged to producers: below a high watermark, for one."""
    maybe_acknowledged: RecordSpan
    """Those of them of which nothing shows whether they were acknowledged. Of the others it is known that not all in
    sync had them: they were acknowledged with acks=1, if at all."""
    by_replica: Mapping[str, RecordSpan]
    """The acknowledged ones that each replica has; replicas without any are left out."""
    unreadable: Mapping[str, RecordSpan]
    """Those that each replica has corrupt, and no other has at all: lost whichever leads, and counted by offsets."""
    gone: Mapping[str, RecordSpan]
    """Those that each replica lacks below its high watermark, and no other has: lost and counted likewise."""

    @property
    def acknowledged_at_most(self) -> int:
        """How many of the lost records were acknowledged with acks=all at most."""
        return min(self.lost.records, self.acknowledged.records + self.maybe_acknowledged.records)

    @property
    def cost(self) -> Cost:
        """By what leaders are ranked."""
        return Cost(self.acknowledged.records, self.maybe_acknowledged.records, self.lost.records)


def losses(
    copies: Sequence[ExaminedCopy],
    comparisons: Comparisons,
    registered: Registered | None = None,
    *,
    with_empty: bool = False,
) -> dict[str, Loss]:
    """Return what is lost under each leader; a leader is left out where the copies could not all be compared with it.

    So is one of which a segment could not be read: it may have what the others have.
    `with_empty` asks for one that has no copy too, EMPTY.

    Records count as equal where `compare` says so. What retention has removed from the leader's log is not lost, and
    neither is what the cleaner may have removed. Batches whose checksum does not match are nobody's records; where
    they were acknowledged and no copy has them sound, they are lost under any leader; and so is what was acknowledged
    and is missing everywhere.
    """
    leaders = [
        copy.replica
        for copy in copies
        if not copy.summary.unread_offsets
        and all(frozenset((copy.replica, other.replica)) in comparisons for other in copies if other is not copy)
    ]
    summaries = {copy.replica: copy.summary for copy in copies}
    odd = odd_replicas(list(comparisons.values()))
    lacking = {
        (leader, follower): _lacking(summaries[leader], summaries[follower], comparisons, odd)
        for leader in leaders
        for follower in summaries
    }
    if with_empty:
        leaders.append(EMPTY)
        lacking |= {(EMPTY, each.replica): [OffsetRange(each.expected_start, LAST)] for each in summaries.values()}
    tallies = {leader: _Tallies() for leader in leaders}
    try:
        _read(copies, lacking, tallies, acknowledged([*summaries.values()], comparisons, registered))
    except CopyUnreadableError:
        return {}
    return {leader: tallies[leader].loss() for leader in leaders}


@dataclass(slots=True)
class _Tallies:
    """Counts for one leader."""

    lost: RecordTally = field(default_factory=RecordTally)
    acknowledged: RecordTally = field(default_factory=RecordTally)
    maybe_acknowledged: RecordTally = field(default_factory=RecordTally)
    by_replica: dict[str, RecordTally] = field(default_factory=dict)
    unreadable: dict[str, RecordTally] = field(default_factory=dict)
    gone: dict[str, RecordTally] = field(default_factory=dict)

    def add(
        self,
        lost: Mapping[str, Batches],
        ruined: Mapping[str, Batches],
        vanished: Mapping[str, Batches],
        known: Mapping[str, Acknowledged],
    ) -> None:
        """Count in what each replica has, or lacks, of one stretch of the log."""
        acknowledged = {name: clipped(rows, 0, known[name].known) for name, rows in lost.items()}
        maybe_acknowledged = [clipped(rows, *known[name]) for name, rows in lost.items()]
        of_nobody = [*ruined.values(), *vanished.values()]
        self.lost.add_all([*lost.values(), *of_nobody])
        self.acknowledged.add_all([*acknowledged.values(), *of_nobody])
        self.maybe_acknowledged.add_all(maybe_acknowledged)
        for tallies, found in (
            (self.by_replica, acknowledged),
            (self.unreadable, ruined),
            (self.gone, vanished),
        ):
            for name, rows in found.items():
                tallies.setdefault(name, RecordTally()).add(rows)

    def loss(self) -> Loss:
        return Loss(
            self.lost.span,
            self.acknowledged.span,
            self.maybe_acknowledged.span,
            _spans(self.by_replica),
            _spans(self.unreadable),
            _spans(self.gone),
        )


def _spans(tallies: Mapping[str, RecordTally]) -> dict[str, RecordSpan]:
    return {name: tally.span for name, tally in tallies.items() if tally.span.records}


def _lacking(
    leader: CopySummary, follower: CopySummary, comparisons: Comparisons, odd: Collection[str]
) -> list[OffsetRange]:
    """Return the offsets at which the follower's records, if it has any, are not in the leader's log."""
    starts = max(leader.expected_start, follower.expected_start)
    if leader.is_dropped or leader.is_stray:
        return [OffsetRange(starts, LAST)]
    if leader is follower:
        # What stands behind damage, where recovery ends the log.
        return [OffsetRange(max(starts, leader.log_end_offset), LAST)] if leader.damage else []
    comparison = comparisons[frozenset((leader.replica, follower.replica))]
    parts_at = comparison.fork.offset if comparison.fork else LAST
    tail = max(starts, min(parts_at, leader.log_end_offset))
    missing = comparison.missing_left if comparison.left == leader.replica else comparison.missing_right
    # An odd one out is taken for wrong; where none stands out, what is right may be lost whichever leads.
    doubted = leader.replica in odd
    diverging = [OffsetRange(each.first_offset, each.last_offset) for each in comparison.divergences if doubted]
    before = (
        OffsetRange(max(first, starts), min(last, tail - 1))
        for first, last in (*missing, *diverging, *leader.corrupt)
        if first < tail and last >= starts
    )
    return merged([*before, OffsetRange(tail, LAST)])


def _read(
    copies: Sequence[ExaminedCopy],
    lacking: Mapping[tuple[str, str], Sequence[OffsetRange]],
    tallies: Mapping[str, _Tallies],
    known: Mapping[str, Acknowledged],
) -> None:
    """Read what any leader lacks, a stretch of the log at a time, and count it for each leader."""
    readers = {copy.replica: BatchReader(copy) for copy in copies}
    corrupt = {copy.replica: acknowledged_and_corrupt(copy.summary) for copy in copies}
    wanted = {
        name: [*corrupt[name], *chain(*(ranges for pair, ranges in lacking.items() if pair[1] == name))]
        for name in readers
    }
    starts = {name: reader.copy.summary.expected_start for name, reader in readers.items()}
    starts[EMPTY] = min(starts.values())
    vanished, counted_to = gone(readers), 0
    numbers = {name: reader.ranges_with(wanted[name]) for name, reader in readers.items()}
    for span in spans(np.array(sorted(set().union(*numbers.values())), np.int64)):
        first, end = int(span[0]) << RANGE_BITS, int(span[-1]) + 1 << RANGE_BITS
        holding = [name for name in readers if not numbers[name].isdisjoint(span.tolist())]
        batches = {name: readers[name].read(first, end) for name in holding}
        ruined = {
            name: unreadable(
                rows,
                corrupt[name],
                readers[name].next_offset(end),
                [each for other, each in readers.items() if other != name],
            )
            for name, rows in batches.items()
        }
        for leader, tally in tallies.items():
            start = starts[leader]
            lost = {name: _within(rows[rows["is_sound"]], lacking[leader, name]) for name, rows in batches.items()}
            spoiled = {name: clipped(rows, start, LAST) for name, rows in ruined.items()}
            tally.add(lost, spoiled, _between(vanished, max(start, counted_to), end), known)
        counted_to = end
    for leader, tally in tallies.items() if any(map(len, vanished.values())) else ():
        tally.add({}, {}, _between(vanished, max(starts[leader], counted_to), LAST), known)


def _between(found: Mapping[str, Batches], first: int, end: int) -> dict[str, Batches]:
    return {name: clipped(rows, first, end) for name, rows in found.items()}


def _within(batches: Batches, ranges: Sequence[OffsetRange]) -> Batches:
    return np.concatenate([batches[:0], *_parts(batches, ranges)])


def _parts(batches: Batches, ranges: Sequence[OffsetRange]) -> Iterator[Batches]:
    if not len(batches):
        return
    first, last = int(batches["base_offset"].min()), int(batches["last_offset"].max())
    for each in ranges:
        if each.first <= last and each.last >= first:
            yield clipped(batches, each.first, each.last + 1)
