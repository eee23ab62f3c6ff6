"""What of another copy is proven to belong into a gap.

Two logs that have the same batch, under the same leader epoch, are the same below it: only one leader wrote in that
epoch, and its followers had to agree with it before they took the batch (KIP-101). So the batch behind a gap proves
what is before it. At the log's end nothing follows; there the leader epochs decide, as for a follower that fetches.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from epoch import EpochHistory
from logstore.batch.layout import CRC_AT
from replication.copies.repair.batch_rows import IDENTITY, BatchRows, Column
from replication.copies.repair.gap import Gap
from replication.copies.repair.scanned_copy import ScannedCopy

CRC_END: Final = CRC_AT + 4
"""Up to there a batch has its base offset, size, leader epoch and checksum: all that distinguishes it from others."""


@dataclass(frozen=True)
class Neighbours:
    """How the sound batches of a damaged copy compare with those of another one."""

    copy: ScannedCopy
    other: ScannedCopy
    compared: Column
    """Rows of the damaged copy whose offsets the other one has batches of, too."""
    counterparts: Column
    """The rows of these, in the other copy."""
    same: Column
    """1 where both are the same batch, else 0."""

    @classmethod
    def of(cls, copy: ScannedCopy, other: ScannedCopy) -> "Neighbours":
        """Compare all of them."""
        rows, theirs = copy.rows, other.rows
        counterparts = np.searchsorted(theirs.base_offset, rows.last_offset, "right") - 1
        compared = np.flatnonzero(counterparts >= 0)
        compared = compared[theirs.last_offset[counterparts[compared]] >= rows.base_offset[compared]]
        counterparts = counterparts[compared]
        same = np.ones(len(compared), np.int64)
        for name in IDENTITY:
            same &= getattr(rows, name)[compared] == getattr(theirs, name)[counterparts]
        return cls(copy, other, compared, counterparts, same)

    def wrong_epochs(self) -> Column:
        """Return the rows of which only the leader epoch differs, and the damaged copy's checkpoint has the other's.

        No checksum is of a batch's leader epoch.
        """
        ours, theirs, checkpoint = self.copy.rows, self.other.rows, self.copy.checkpoint
        if checkpoint is None:
            return self.compared[:0]
        alike = self.same == 0
        for name in IDENTITY:
            if name != "leader_epoch":
                alike &= getattr(ours, name)[self.compared] == getattr(theirs, name)[self.counterparts]
        wrong = [
            checkpoint.epoch_for_offset(int(ours.base_offset[self.compared[place]]))
            == theirs.leader_epoch[self.counterparts[place]]
            for place in np.flatnonzero(alike)
        ]
        return self.compared[np.flatnonzero(alike)[wrong]]

    def difference(self) -> int | None:
        """Return the first row where the copies have different sound batches of one leader epoch; None without any."""
        ours, theirs = self.copy.rows.leader_epoch, self.other.rows.leader_epoch
        different = np.flatnonzero((self.same == 0) & (ours[self.compared] == theirs[self.counterparts]))
        return int(self.compared[different[0]]) if len(different) else None

    def before(self, row: int) -> int | None:
        """Return the place, in `compared`, of the last row before `row`."""
        place = int(np.searchsorted(self.compared, row)) - 1
        return place if place >= 0 else None

    def after(self, row: int) -> int | None:
        """Return the place of the first row from `row` on."""
        place = int(np.searchsorted(self.compared, row))
        return place if place < len(self.compared) else None


@dataclass(frozen=True, slots=True)
class Candidates:
    """The batches of another copy that belong into a gap: rows from `first` on, as many as are proven."""

    other: ScannedCopy
    first: int
    end: int

    @property
    def rows(self) -> BatchRows:
        """These batches."""
        chosen = np.zeros(len(self.other.rows), np.bool_)
        chosen[self.first : self.end] = True
        return self.other.rows.where(chosen)


def prove(gap: Gap, neighbours: Neighbours) -> Candidates | str:
    """Return what another copy has for a gap, or why nothing of it is proven to belong there."""
    copy, other = neighbours.copy, neighbours.other
    before, after = neighbours.before(gap.row), neighbours.after(gap.row)
    for place, where in ((before, "before"), (after, "behind")):
        if place is not None and not neighbours.same[place]:
            return f"{other.name} has another batch {where} it, {_offsets(copy, int(neighbours.compared[place]))}"
    first = int(np.searchsorted(other.rows.base_offset, gap.start))
    end = len(other.rows) if gap.end is None else int(np.searchsorted(other.rows.last_offset, gap.end))
    if after is None:
        end = _end_by_headers(gap, neighbours, first, _end_by_epochs(neighbours, before, first, end), end)
        if first >= end:
            return f"by its leader epochs {other.name} has nothing that must follow there"
    elif differing := _differing_epoch(gap, copy, other):
        return f"{other.name} has other leader epochs there: {differing}"
    if first >= end:
        return f"{other.name} has no sound batch of these offsets"
    return Candidates(other, first, end)


def _end_by_epochs(neighbours: Neighbours, before: int | None, first: int, end: int) -> int:
    """Return up to which row the other copy has what the leaders of the damaged copy's epochs wrote.

    Without its checkpoint nobody knows which leader followed, and where.
    """
    if not neighbours.copy.checkpoint:
        return first
    ours, theirs, rows = neighbours.copy.history, neighbours.other.history, neighbours.other.rows
    last = None if before is None else int(neighbours.copy.rows.leader_epoch[neighbours.compared[before]])
    changes = np.flatnonzero(np.diff(rows.leader_epoch[first:end])) + first + 1
    for begin, stop in pairwise([first, *changes.tolist(), end] if first < end else []):
        epoch, following = int(rows.leader_epoch[begin]), ours.next_entry(int(rows.leader_epoch[begin]))
        is_ours = epoch >= 0 and ours.epoch_for_offset(int(rows.base_offset[begin])) == epoch
        if not (is_ours and _began_alike(epoch, ours, theirs, is_shared=epoch == last)):
            return begin
        if following and following.start_offset <= rows.last_offset[stop - 1]:
            return begin + int(np.searchsorted(rows.last_offset[begin:stop], following.start_offset))
    return end


def _end_by_headers(gap: Gap, neighbours: Neighbours, first: int, row: int, end: int) -> int:
    """Go on from `row` as long as the damaged bytes still show the headers of the other copy's next batches."""
    rows = neighbours.other.rows
    for region in gap.regions[:1]:
        there = neighbours.copy.logs[region.segment].data[region.start : region.end]
        position = int(rows.size[first:row].sum())
        while row < end and there[position : position + CRC_END] == neighbours.other.data(row)[:CRC_END]:
            position += int(rows.size[row])
            row += 1
    return row


def _began_alike(epoch: int, ours: EpochHistory, theirs: EpochHistory, *, is_shared: bool) -> bool:
    """Whether an epoch began at one offset in both histories; `is_shared` if both logs have a batch of it."""
    one, other = ours.entry_for(epoch), theirs.entry_for(epoch)
    if one is None or other is None:
        return False
    # What deletes a log's beginning moves the start of its first epoch.
    moved = one == ours.earliest or other == theirs.earliest
    return one == other or (is_shared and moved)


def _differing_epoch(gap: Gap, copy: ScannedCopy, other: ScannedCopy) -> str:
    """Find an epoch that began within the gap by one history, and not by the other."""
    if not copy.checkpoint or gap.end is None:
        return ""
    for entry in copy.history.entries:
        theirs = other.history.entry_for(entry.epoch)
        if gap.start < entry.start_offset < gap.end and theirs is not None and theirs != entry:
            return f"{entry.epoch} began at {entry.start_offset:,}, and there at {theirs.start_offset:,}"
    return ""


def _offsets(copy: ScannedCopy, row: int) -> str:
    return f"offsets {int(copy.rows.base_offset[row]):,} to {int(copy.rows.last_offset[row]):,}"
