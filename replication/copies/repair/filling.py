"""What takes the place of a gap: batches of other copies, from its beginning on and up to its end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from logstore.offline.holes import end_of_zeros
from replication.copies.planning.known_end import known_end
from replication.copies.repair.batch_rows import IDENTITY
from replication.copies.repair.gap import Gap, Region
from replication.copies.repair.proof import Candidates
from replication.copies.repair.scanned_copy import ScannedCopy

ALIKE: Final = 4
"""One of so many bytes must still be there for a batch to count as the one that stood there."""


class Run(NamedTuple):
    """Consecutive batches of another copy, by their rows; the end is left out."""

    other: ScannedCopy
    first: int
    end: int

    @property
    def bytes(self) -> int:
        """Their size."""
        return int(self.other.rows.size[self.first : self.end].sum())

    @property
    def start_offset(self) -> int:
        """Where they begin."""
        return int(self.other.rows.base_offset[self.first])

    @property
    def end_offset(self) -> int:
        """Where they end."""
        return int(self.other.rows.last_offset[self.end - 1]) + 1


@dataclass(frozen=True, slots=True)
class Filling:
    """What a gap is filled with: `head`, then the bytes that are left as they are, then `tail`."""

    head: tuple[Run, ...] = ()
    tail: tuple[Run, ...] = ()
    kept: tuple[Region, ...] = ()
    """Of the bytes that stand there."""
    why: str = ""
    """Why not all of it is filled; empty where it is."""

    @property
    def runs(self) -> tuple[Run, ...]:
        """All batches that are put in."""
        return self.head + self.tail


def fill(
    gap: Gap,
    copy: ScannedCopy,
    candidates: Sequence[Candidates],
    refusals: Sequence[str],
    *,
    is_compacted: bool,
) -> Filling:
    """Decide what takes the place of a gap, given what each other copy has for it and why some have nothing."""
    if conflict := _conflict(candidates):
        return Filling(kept=gap.regions, why=conflict)
    if gap.end is None:
        return _fill_end(gap, copy, candidates, refusals)
    if gap.start == gap.end:
        return Filling()  # nothing fits between its neighbours
    if is_compacted:
        return _fill_exactly(gap, copy, candidates, refusals)
    head = tuple(_from_start(gap.start, candidates))
    reached = head[-1].end_offset if head else gap.start
    if reached == gap.end:
        return Filling(head)
    tail = tuple(_to_end(reached, gap.end, candidates))
    why = _because(refusals, f"no copy has all batches from offset {reached:,} to {_begin(tail, gap.end) - 1:,}")
    return _around(gap, head, tail, why)


def _begin(tail: Sequence[Run], end: int) -> int:
    return tail[0].start_offset if tail else end


def _because(refusals: Sequence[str], otherwise: str) -> str:
    return "; ".join(refusals) or otherwise


def _conflict(candidates: Sequence[Candidates]) -> str:
    """Return where two copies have different batches that would both belong there."""
    for one, other in combinations(candidates, 2):
        ours, theirs = one.rows, other.rows
        _, here, there = np.intersect1d(ours.base_offset, theirs.base_offset, return_indices=True)
        differ = np.zeros(len(here), np.bool_)
        for name in IDENTITY:
            differ |= getattr(ours, name)[here] != getattr(theirs, name)[there]
        for place in here[differ][:1].tolist():
            return (
                f"{one.other.name} and {other.other.name} have different batches at offset "
                f"{int(ours.base_offset[place]):,}"
            )
    return ""


def _from_start(start: int, candidates: Sequence[Candidates]) -> Iterator[Run]:
    """Go from `start` on from batch to batch, in whichever copy has the next one."""
    found = True
    while found:
        found = False
        for each in candidates:
            rows = each.other.rows
            first = each.first + int(np.searchsorted(rows.base_offset[each.first : each.end], start))
            if first < each.end and rows.base_offset[first] == start:
                follows = rows.base_offset[first + 1 : each.end] == rows.last_offset[first : each.end - 1] + 1
                end = each.end if follows.all() else first + 1 + int(np.argmin(follows))
                yield Run(each.other, first, end)
                start, found = int(rows.last_offset[end - 1]) + 1, True


def _to_end(start: int, end: int, candidates: Sequence[Candidates]) -> list[Run]:
    """Go back from `end`, but not below `start`."""
    runs: list[Run] = []
    found = True
    while found:
        found = False
        for each in candidates:
            rows = each.other.rows
            last = each.first + int(np.searchsorted(rows.last_offset[each.first : each.end], end - 1))
            lowest = each.first + int(np.searchsorted(rows.base_offset[each.first : each.end], start))
            if lowest <= last < each.end and rows.last_offset[last] == end - 1:
                follows = rows.base_offset[lowest + 1 : last + 1] == rows.last_offset[lowest:last] + 1
                first = lowest if follows.all() else lowest + 1 + int(np.flatnonzero(~follows)[-1])
                runs.insert(0, Run(each.other, first, last + 1))
                end, found = int(rows.base_offset[first]), True
    return runs


def _around(gap: Gap, head: tuple[Run, ...], tail: tuple[Run, ...], why: str) -> Filling:
    """Put batches at both ends of a gap where it is known which of its bytes they take the place of."""
    if not gap.regions:
        return Filling(head, tail, why=why)
    before, behind = (sum(run.bytes for run in runs) for runs in (head, tail))
    if len(gap.regions) > 1 or gap.bytes <= before + behind:
        return Filling(kept=gap.regions, why=why)
    [region] = gap.regions
    return Filling(head, tail, (Region(region.segment, region.start + before, region.end - behind),), why)


def _fill_exactly(gap: Gap, copy: ScannedCopy, candidates: Sequence[Candidates], refusals: Sequence[str]) -> Filling:
    """Fill a gap of a compacted log only with what stood there: another copy may have what was cleaned away here."""
    for each in candidates:
        run = Run(each.other, each.first, each.end)
        if len(gap.regions) == 1 and run.bytes == gap.bytes and _still_there(gap, copy, run):
            return Filling((run,))
    refused = (*refusals, *(f"{each.other.name} was compacted differently there" for each in candidates))
    return Filling(kept=gap.regions, why=f"the log is compacted: {_because(refused, 'no copy has the same batches')}")


def _still_there(gap: Gap, copy: ScannedCopy, run: Run) -> bool:
    batches = b"".join(run.other.data(row) for row in range(run.first, run.end))
    return resembles(_bytes(copy, gap.regions[0]), memoryview(batches))


def _fill_end(gap: Gap, copy: ScannedCopy, candidates: Sequence[Candidates], refusals: Sequence[str]) -> Filling:
    """Fill up the log's end: as far as it is known to have been, or as bytes that are there show."""
    end, told_by = known_end(copy.partition, copy.checkpoint)
    there = _bytes(copy, gap.regions[0]) if gap.regions else memoryview(b"")
    head: list[Run] = []
    reached, used = gap.start, 0
    for run in _from_start(gap.start, candidates):
        stop = run.first
        while stop < run.end:
            is_known = run.other.rows.base_offset[stop] < end
            if not (is_known or resembles(there[used:], run.other.data(stop))):
                break
            used += int(run.other.rows.size[stop])
            stop += 1
        if stop > run.first:
            head.append(run._replace(end=stop))
            reached = head[-1].end_offset
        if stop < run.end:
            break
    kept = _kept_at_end(copy, gap, reached, used)
    why = ""
    if reached < end:
        why = _because(refusals, f"no copy has the batches from offset {reached:,} on") + _told(end, told_by)
    elif kept:
        why = _because(refusals, f"no copy has the batch of offset {reached:,}") + ", which begins there"
    return Filling(tuple(head), (), kept, why)


def _told(end: int, by: str) -> str:
    return f"; by {by} the log ended at {end:,} or later"


def _kept_at_end(copy: ScannedCopy, gap: Gap, reached: int, used: int) -> tuple[Region, ...]:
    """Leave the bytes that may be a batch which no other copy has; what follows the log's last batch else is none."""
    kept: list[Region] = []
    for number, region in enumerate(gap.regions):
        rest = region._replace(start=min(region.end, region.start + (0 if number else used)))
        log = copy.logs[rest.segment]
        begins = int.from_bytes(_bytes(copy, rest)[:8], "big") if rest.end - rest.start >= 8 else -1
        is_zero = end_of_zeros(log.array, rest.start, log.path) >= rest.end
        if not is_zero and (kept or begins == reached):
            kept.append(rest)
    return tuple(kept)


def _bytes(copy: ScannedCopy, region: Region) -> memoryview:
    return copy.logs[region.segment].data[region.start : region.end]


def resembles(there: memoryview, batch: memoryview) -> bool:
    """Whether bytes still show that a batch stood there, whole or only its beginning."""
    size = min(len(there), len(batch))
    one, other = np.frombuffer(there[:size], np.uint8), np.frombuffer(batch[:size], np.uint8)
    telling = other != 0
    return bool(telling.any()) and ALIKE * int((one == other)[telling].sum()) >= int(telling.sum())
