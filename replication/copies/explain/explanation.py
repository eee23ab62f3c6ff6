"""What became of each offset of a partition."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from epoch import EpochHistory
from logstore.topic_partition import TopicPartition
from replication.copies.explain.evidence import Evidence, ExplainedRange, range_as_json
from replication.copies.explain.offset_ranges import Ranges, is_of, ordered, split
from replication.copies.explain.table_rows import chosen
from replication.copies.explain.why import CODES, WHYS, Why


class OffsetRuns(NamedTuple):
    """Offsets as runs of those that follow each other, by size."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Ranges of offsets that together are all from `start` up to, not including, `end`, or a part of them."""

    topic_partition: TopicPartition
    copy: str
    """Whose log is explained: the one that consumers read, or would read."""
    others: tuple[str, ...]
    """The copies that were compared with it."""
    committed_only: bool
    start: int
    end: int
    log_start_offset: int
    log_end_offset: int
    damage: str | None
    """Why the log ends there though its files go on; None where they do not."""
    table: Ranges
    """Rows as `offset_ranges.RANGE` describes them, by offset."""
    cut_off_table: Ranges
    """What was truncated, also where the log has other records at the same offsets."""
    evidence: Evidence
    latest_and_longest: str | None = None
    """The copy with the latest leader epoch that its records have, of several the longest, as `audit` names it."""
    led: EpochHistory = field(default_factory=EpochHistory)
    """Who led the log, with leaders that wrote nothing."""

    def __repr__(self) -> str:
        place = f"start={self.start}, end={self.end}"
        return f"Explanation({self.topic_partition} of {self.copy}, {place}, {len(self.table):,} ranges)"

    @property
    def ranges(self) -> list[ExplainedRange]:
        """All ranges, by offset."""
        return self.evidence.all(self.table)

    @property
    def cut_off(self) -> list[ExplainedRange]:
        """All that was truncated, by source: the log may have other records at the same offsets."""
        return self.evidence.all(self.cut_off_table)

    @property
    def counts(self) -> dict[Why, int]:
        """How many offsets there are of each kind that occurs."""
        sizes = self.table["last"] - self.table["first"] + 1
        counts = {why: int(sizes[self.table["why"] == code].sum()) for code, why in enumerate(WHYS)}
        return {why: count for why, count in counts.items() if count}

    def of(self, *whys: Why) -> list[ExplainedRange]:
        """Return the ranges of these kinds."""
        return self.evidence.all(self.table[is_of(self.table, *whys)])

    def without(self, offsets: NDArray[np.int64] | OffsetRuns) -> Self:
        """Return what became of those offsets that are not among these: what their owner lacks, and why."""
        return self._chosen(offsets, are_among=False)

    def unexpected(self, offsets: NDArray[np.int64] | OffsetRuns) -> Self:
        """Return which of these offsets no consumer was given: markers, what was never written, or not committed.

        What is missing counts where no other copy has it. What is expired, compacted or truncated was there once, and
        what cannot be read may have been given by a copy that had it whole.
        """
        given = self._chosen(offsets, are_among=True)
        never = is_of(given.table, Why.CONTROL, Why.NEVER_WRITTEN, Why.ABORTED, Why.OPEN, Why.UNCOMMITTED)
        never |= is_of(given.table, Why.MISSING) & (given.table["held_file"] < 0)
        return replace(given, table=given.table[never])

    def committed_to(self, high_watermark: int) -> Self:
        """Return it by what the cluster has answered since: all below its high watermark is committed, and no more.

        A record at it or above is given to nobody; what no copy has below it was written, if not to these.
        """
        at = np.array([high_watermark], np.int64)
        rows, within = split(self.table, at, np.array([np.iinfo(np.int64).max - 1]))
        is_above = within >= 0
        changed = {
            Why.UNCOMMITTED: (is_above & is_of(rows, Why.DELIVERED), "not committed"),
            Why.BEYOND: (~is_above & is_of(rows, Why.NEVER_WRITTEN), "committed, and every copy ends before it"),
        }
        if not any(chosen_rows.any() for chosen_rows, _ in changed.values()):
            return self
        rows = rows.copy()
        for why, (chosen_rows, said) in changed.items():
            rows["why"][chosen_rows] = CODES[why]
            rows["note"][chosen_rows] = self.evidence.note(
                f"the cluster's high watermark is {high_watermark:,}: {said}"
            )
        return replace(self, table=ordered(rows))

    def _chosen(self, offsets: NDArray[np.int64] | OffsetRuns, *, are_among: bool) -> Self:
        first, last = offsets if isinstance(offsets, OffsetRuns) else runs_of_offsets(offsets)
        rows, within = split(self.table, first, last)
        # Where a batch within a range stands is not known any more.
        is_within = ~np.isin(rows["first"], self.table["first"])
        is_within &= is_of(rows, Why.DELIVERED, Why.OPEN, Why.CONTROL, Why.TRUNCATED, Why.UNREADABLE)
        for name in ("file", "position", "held_position"):
            rows[name][is_within] = -1
        return replace(self, table=ordered(chosen(rows, (within >= 0) == are_among)))

    def as_json(self) -> dict[str, Any]:
        """Return what `epochlog explain --json` prints of it."""
        return {
            "counts": {why.value: count for why, count in self.counts.items()},
            "ranges": [range_as_json(each) for each in self.ranges],
            "cut_off": [range_as_json(each) for each in self.cut_off],
        }


def runs_of_offsets(offsets: NDArray[np.int64]) -> OffsetRuns:
    """Return the runs of offsets, which may be in any order and occur more than once."""
    offsets = np.asarray(offsets, np.int64)
    if len(offsets) and not (offsets[1:] > offsets[:-1]).all():
        offsets = np.unique(offsets)
    if not len(offsets):
        return OffsetRuns(offsets, offsets)
    ends = np.flatnonzero(offsets[1:] != offsets[:-1] + 1)
    return OffsetRuns(offsets[np.append(0, ends + 1)], offsets[np.append(ends, len(offsets) - 1)])
