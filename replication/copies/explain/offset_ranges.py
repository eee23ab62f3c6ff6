"""Tables of what became of offsets: a row for each range."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from replication.copies.explain.offset_runs import Runs
from replication.copies.explain.table_rows import chosen, stacked, taken
from replication.copies.explain.why import CODES, Why

RANGE: Final = np.dtype(
    [
        ("first", np.int64),
        ("last", np.int64),
        ("why", np.int8),  # as WHYS are numbered
        ("epoch", np.int32),  # under which they were written; -1 where that is not known
        ("file", np.int32),  # -1 where there is none
        ("position", np.int64),
        ("decided_by", np.int64),  # the marker's offset, the open transaction's first, or the truncating leader's epoch
        ("note", np.int32),  # -1 where there is none
        ("held_file", np.int32),  # of another copy that still has them; -1 where there is none
        ("held_position", np.int64),
    ]
)
Ranges = NDArray[np.void]
"""Rows of RANGE, by offset; none overlaps another."""
_EVIDENCE: Final = ("why", "epoch", "decided_by", "note", "held_file")


def ranges(
    first: NDArray[np.int64] | int, last: NDArray[np.int64] | int, why: Why, *, note: int = -1, file: int = -1
) -> Ranges:
    """Make rows for these offsets, without those that are empty."""
    firsts, lasts = np.broadcast_arrays(np.atleast_1d(first), np.atleast_1d(last))
    rows = np.empty(len(firsts), RANGE)
    rows["first"], rows["last"] = firsts, lasts
    rows["why"], rows["note"], rows["file"] = CODES[why], note, file
    for name in ("epoch", "position", "decided_by", "held_file", "held_position"):
        rows[name] = -1
    is_there = rows["first"] <= rows["last"]
    return rows if is_there.all() else chosen(rows, is_there)


def ranges_of_runs(runs: Runs, why: Why) -> Ranges:
    """Make a row of each run."""
    rows = ranges(runs["first"], runs["last"], why)
    rows["epoch"], rows["file"], rows["position"] = runs["epoch"], runs["file"], runs["position"]
    return rows


def is_of(rows: Ranges, *whys: Why) -> NDArray[np.bool_]:
    """Return which rows have one of these reasons."""
    found: NDArray[np.bool_] = np.isin(rows["why"], [CODES[why] for why in whys])
    return found


def by_offset(*parts: Ranges) -> Ranges:
    """Return all rows by offset."""
    rows = stacked(parts, RANGE)
    if (rows["first"][1:] >= rows["first"][:-1]).all():
        return rows
    return taken(rows, np.argsort(rows["first"], kind="stable"))


def ordered(*parts: Ranges) -> Ranges:
    """Return all rows by offset, those that follow each other with the same evidence as one."""
    rows = by_offset(*parts)
    if not len(rows):
        return rows
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = rows["first"][1:] != rows["last"][:-1] + 1
    for name in _EVIDENCE:
        begins[1:] |= rows[name][1:] != rows[name][:-1]
    if begins.all():
        return rows
    starts = np.flatnonzero(begins)
    merged = taken(rows, starts)
    merged["last"] = rows["last"][np.append(starts[1:], len(rows)) - 1]
    return merged


def split(rows: Ranges, first: NDArray[np.int64], last: NDArray[np.int64]) -> tuple[Ranges, NDArray[np.int64]]:
    """Cut rows where these ranges, which rise, begin and end; return of each row the range it lies in, else -1.

    Where there is nothing to cut, the rows are returned themselves.
    """
    cuts = np.sort(np.concatenate((first, last + 1)), kind="stable")  # two that are sorted: faster than np.union1d
    cuts = cuts[np.append(True, cuts[1:] > cuts[:-1])] if len(cuts) else cuts
    before = np.searchsorted(cuts, rows["first"], "right")
    pieces = np.searchsorted(cuts, rows["last"], "right") - before + 1
    cut = rows
    if (pieces > 1).any():
        number = np.repeat(np.arange(len(rows)), pieces)
        cut = taken(rows, number)
        within = np.arange(len(cut)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        at = before[number] + within
        cut["first"] = np.where(within > 0, cuts[np.maximum(at - 1, 0)], cut["first"])
        ends = cuts[np.minimum(at, len(cuts) - 1)] - 1
        cut["last"] = np.where(within < pieces[number] - 1, ends, cut["last"])
    starts = np.ascontiguousarray(cut["first"])
    holder = np.searchsorted(first, starts, "right") - 1
    inside = holder >= 0
    inside[inside] = last[holder[inside]] >= starts[inside]
    return cut, np.where(inside, holder, -1)


def clipped_ranges(rows: Ranges, start: int, end: int) -> Ranges:
    """Return what of the rows is at `start` or beyond, and below `end`."""
    inside = chosen(rows, (rows["last"] >= start) & (rows["first"] < end) & (start < end))
    inside["first"] = np.maximum(inside["first"], start)
    inside["last"] = np.minimum(inside["last"], end - 1)
    return inside
