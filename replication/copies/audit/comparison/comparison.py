"""Two copies of one partition, compared by digests first and only where those differ by bytes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from epoch import EpochHistory
from epoch.history import MAX_OFFSET
from replication.copies.audit.comparison.batch_differences import distinct, overlapping, uncovered, unlike, without
from replication.copies.audit.comparison.batch_reader import BatchReader
from replication.copies.audit.comparison.batch_rows import COMPARED, ROW, Batches, times_of
from replication.copies.audit.comparison.compacted import compare_compacted
from replication.copies.audit.comparison.divergence import Divergence, find_divergences
from replication.copies.audit.comparison.examined_copy import ExaminedCopy
from replication.copies.audit.copy_summary import CopySummary, OffsetRange
from replication.copies.audit.examination.range_digests import RANGE_BITS, Rows

RANGES_AT_ONCE: Final = 16
"""Neighbouring ranges that are read again together: a million offsets."""
MOST_KEPT: Final = 1_000
"""Divergences, and missing ranges, that are kept one by one; further ones only lengthen the last."""


@dataclass(frozen=True, slots=True)
class Fork:
    """The first offset that two leaders wrote: the left copy has one's record there, the right copy the other's."""

    offset: int
    left_epoch: int
    right_epoch: int
    left_timestamp: int | None
    """Of the left copy's batch there, in milliseconds since 1970 UTC; None where it has none."""
    right_timestamp: int | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the left copy's log differs from the right one's, within the offsets that both should have."""

    left: str
    right: str
    first_difference: int | None
    """The first offset that differs, whatever the reason."""
    fork: Fork | None
    divergences: tuple[Divergence, ...]
    """Before any fork."""
    missing_left: tuple[OffsetRange, ...]
    """Offsets that only the right copy has, before any fork, and that the cleaner cannot have removed."""
    missing_right: tuple[OffsetRange, ...]
    compacted_differently: bool
    """Whether the cleaner removed records from one copy that the other still has, as it may."""
    ranges: int
    """Ranges of offsets that both should have something in."""
    ranges_read: int
    """Those of them that had to be read again."""
    batches_read: int
    """On both sides together, as are the bytes."""
    bytes_read: int

    @property
    def parted_at(self) -> int:
        """From where on they are not the same log; MAX_OFFSET where one is the other's beginning."""
        forks = [self.fork.offset] if self.fork else []
        return min([*forks, *(each.first_offset for each in self.divergences)], default=MAX_OFFSET)


def compare(left: ExaminedCopy, right: ExaminedCopy) -> Comparison:
    """Compare two copies. Raises CopyUnreadableError where bytes that have to be read again cannot be."""
    return _Comparing(left, right, (BatchReader(left), BatchReader(right))).compare()


def differing_ranges(left: ExaminedCopy, right: ExaminedCopy) -> NDArray[np.int64]:
    """Return the ranges, among the offsets that both copies should have, in which their digests differ."""
    if left.digests == right.digests:
        return np.empty(0, np.int64)
    first, end = _common(left.summary, right.summary)
    sides = [_between(copy.digests.rows, first >> RANGE_BITS, end - 1 >> RANGE_BITS) for copy in (left, right)]
    if end <= first or sides[0].tobytes() == sides[1].tobytes():
        return np.empty(0, np.int64)
    rows, times = np.unique(np.concatenate(sides), return_counts=True)
    return distinct(rows["range"][times == 1])


def _between(rows: Rows, first: int, last: int) -> Rows:
    return rows[(rows["range"] >= first) & (rows["range"] <= last)]


def _common(left: CopySummary, right: CopySummary) -> tuple[int, int]:
    """Return the first of the offsets that both should have, and where they end."""
    first = max(left.expected_start, right.expected_start)
    return first, min(left.readable_end_offset, right.readable_end_offset)


@dataclass(slots=True)
class _Comparing:
    """One comparison at work: it goes through the ranges that differ, up to a fork."""

    left: ExaminedCopy
    right: ExaminedCopy
    readers: tuple[BatchReader, BatchReader]
    fork: Fork | None = None
    divergences: list[Divergence] = field(default_factory=list)
    missing_left: list[OffsetRange] = field(default_factory=list)
    missing_right: list[OffsetRange] = field(default_factory=list)
    cleaned_from: int | None = None
    """The first difference that the cleaner may have made."""
    before: tuple[Batches, Batches] = field(default_factory=lambda: (np.empty(0, ROW), np.empty(0, ROW)))
    """The batches of the ranges read last: they may reach into the next ones."""

    def compare(self) -> Comparison:
        """Read what differs, and report how."""
        first, end = _common(self.left.summary, self.right.summary)
        differing = differing_ranges(self.left, self.right)
        ranges_read = 0
        runs = [*spans(differing)]
        followed_by = [*(_begin(span) for span in runs[1:]), end]
        for span, following in zip(runs, followed_by, strict=False):
            ranges_read += len(span)
            self._compare_span(span, first, end, following)
            if self.fork:
                break
        compacted = self._compare_compacted(first, self.fork.offset if self.fork else end)
        return Comparison(
            self.left.replica,
            self.right.replica,
            min(self._differences(), default=None),
            self.fork,
            tuple(self.divergences),
            tuple(self.missing_left),
            tuple(self.missing_right),
            compacted,
            (end - 1 >> RANGE_BITS) - (first >> RANGE_BITS) + 1 if end > first else 0,
            ranges_read,
            sum(reader.batches_read for reader in self.readers),
            sum(reader.bytes_read for reader in self.readers),
        )

    def _compare_span(self, span: NDArray[np.int64], first: int, end: int, following: int) -> None:
        """Compare what begins in neighbouring ranges or reaches into them; from `following` on they differ again."""
        start, stop = _begin(span), min(int(span[-1]) + 1 << RANGE_BITS, end)
        left, right = (
            np.concatenate([before[before["last_offset"] >= start], reader.read(start, stop)])
            for before, reader in zip(self.before, self.readers, strict=True)
        )
        # Batches from before the first offset that both should have may reach beyond it.
        left, right = left[left["last_offset"] >= first], right[right["last_offset"] >= first]
        self.before = left, right
        self._compare_batches(*_later(start, *overlapping(*unlike(left, right))), first)
        # The last batches may reach beyond their ranges, up to where the copies differ again.
        stop = min(max(_reached(left, stop), _reached(right, stop)), following)
        self._find_missing(left, right, max(start, first), stop)

    def _compare_batches(self, left: Batches, right: Batches, first: int) -> None:
        """Judge pairs of unlike batches with offsets in common: a fork, a divergence, or the cleaner's work."""
        offsets = np.maximum(np.maximum(left["base_offset"], right["base_offset"]), first)
        left_epochs, right_epochs = left["leader_epoch"], right["leader_epoch"]
        credible = left["is_sound"] & right["is_sound"] & ~self._altered(left, right, offsets)
        forked = credible & (left_epochs != right_epochs) & (left_epochs >= 0) & (right_epochs >= 0)
        if forked.any():
            row = np.flatnonzero(forked)[np.argmin(offsets[forked])]
            self.fork = Fork(
                int(offsets[row]),
                int(left_epochs[row]),
                int(right_epochs[row]),
                min(times_of(left[row : row + 1]), default=None),
                min(times_of(right[row : row + 1]), default=None),
            )
            credible &= offsets < self.fork.offset
        cleaned_to = max(self.left.summary.cleaned_to, self.right.summary.cleaned_to)
        cleaned = credible & (offsets < cleaned_to)
        if cleaned.any():
            self._note_cleaned(int(offsets[cleaned].min()))
        rows = np.flatnonzero(credible & ~cleaned)
        rows = rows[np.argsort(offsets[rows], kind="stable")]
        self._add_divergences(find_divergences(left[rows], right[rows], self.readers))

    def _altered(self, left: Batches, right: Batches, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which pairs differ only in the leader epoch, which no checksum covers, though both histories agree."""
        altered = np.ones(len(left), np.bool_)
        for name in COMPARED:
            altered &= (left[name] == right[name]) != (name == "leader_epoch")
        left_history, right_history = EpochHistory(self.left.summary.lineage), EpochHistory(self.right.summary.lineage)
        for row in np.flatnonzero(altered):
            offset = int(offsets[row])
            altered[row] = left_history.epoch_for_offset(offset) == right_history.epoch_for_offset(offset)
        return altered

    def _find_missing(self, left: Batches, right: Batches, start: int, stop: int) -> None:
        """Look for offsets that only one side has."""
        stop = min(stop, self.fork.offset) if self.fork else stop
        not_left, not_right = (uncovered(side, start, stop) for side in (left, right))
        for ranges, others, summary, missing in (
            (not_left, not_right, self.left.summary, self.missing_left),
            (not_right, not_left, self.right.summary, self.missing_right),
        ):
            for lacking in without([*without(ranges, others)], summary.unread_offsets):
                if lacking.first < summary.cleaned_to:
                    self._note_cleaned(lacking.first)
                if lacking.last >= summary.cleaned_to:
                    missing.append(OffsetRange(max(lacking.first, summary.cleaned_to), lacking.last))
            missing[:] = _joined(missing)

    def _compare_compacted(self, first: int, end: int) -> bool:
        """Look at the records, by key, where the cleaner may have been; return whether it explains a difference.

        Where a segment was not read, a later record of any key may be in it.
        """
        if self.cleaned_from is None:
            return False
        if any(copy.summary.unread_offsets for copy in (self.left, self.right)):
            return True
        found = compare_compacted(self.readers, first, end)
        self._add_divergences(found.divergences)
        for missing, offsets in (
            (self.missing_left, found.missing_left),
            (self.missing_right, found.missing_right),
        ):
            missing[:] = _joined([*missing, *(OffsetRange(offset, offset) for offset in offsets)])
        return True

    def _note_cleaned(self, offset: int) -> None:
        self.cleaned_from = offset if self.cleaned_from is None else min(self.cleaned_from, offset)

    def _add_divergences(self, found: Iterable[Divergence]) -> None:
        for divergence in found:
            if len(self.divergences) < MOST_KEPT:
                self.divergences.append(divergence)
            else:
                self.divergences[-1] = replace(self.divergences[-1], last_offset=divergence.last_offset)

    def _differences(self) -> Iterator[int]:
        if self.fork:
            yield self.fork.offset
        if self.cleaned_from is not None:
            yield self.cleaned_from
        yield from (divergence.first_offset for divergence in self.divergences)
        yield from (missing.first for missing in (*self.missing_left, *self.missing_right))


def spans(ranges: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Group ranges that follow one another, not too many at once."""
    if not len(ranges):
        return
    for run in np.split(ranges, np.flatnonzero(np.diff(ranges) != 1) + 1):
        yield from np.split(run, range(RANGES_AT_ONCE, len(run), RANGES_AT_ONCE))


def _begin(span: NDArray[np.int64]) -> int:
    return int(span[0]) << RANGE_BITS


def _later(start: int, left: Batches, right: Batches) -> tuple[Batches, Batches]:
    """Return those pairs of which at least one batch begins at `start` or later: the others were judged before."""
    later = np.maximum(left["base_offset"], right["base_offset"]) >= start
    return left[later], right[later]


def _reached(batches: Batches, before: int) -> int:
    return max(before, int(batches["last_offset"].max()) + 1) if len(batches) else before


def _joined(ranges: Iterable[OffsetRange]) -> list[OffsetRange]:
    """Sort ranges and join those that touch; where there are too many, the last one reaches over all further ones."""
    joined: list[OffsetRange] = []
    for lacking in sorted(ranges):
        if joined and (joined[-1].last + 1 >= lacking.first or len(joined) == MOST_KEPT):
            joined[-1] = OffsetRange(joined[-1].first, max(joined[-1].last, lacking.last))
        else:
            joined.append(lacking)
    return joined
