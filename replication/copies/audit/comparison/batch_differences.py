"""How two lists of batches differ, both by offset: pure functions over the rows of `batch_reader.ROW`."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from replication.copies.audit.comparison.batch_rows import COMPARED, Batches
from replication.copies.audit.copy_summary import OffsetRange

Rows = NDArray[np.int64]


def distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each number once, ascending; none is below 0. np.unique would load numpy.ma for that: start-up time."""
    ordered = np.sort(numbers)
    once: NDArray[np.int64] = ordered[np.diff(ordered, prepend=-1) != 0]
    return once


def unlike(left: Batches, right: Batches) -> tuple[Batches, Batches]:
    """Leave out the batches that both have."""
    in_left, in_right = _same(left, right)
    left_only, right_only = np.ones(len(left), np.bool_), np.ones(len(right), np.bool_)
    left_only[in_left], right_only[in_right] = False, False
    return left[left_only], right[right_only]


def _same(left: Batches, right: Batches) -> tuple[Rows, Rows]:
    """Row numbers, in pairs, of the batches that both have."""
    if not len(left) or not len(right):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    at = np.searchsorted(right["base_offset"], left["base_offset"])
    rows = np.flatnonzero(at < len(right))
    at = at[rows]
    same = np.ones(len(rows), np.bool_)
    for name in COMPARED:
        same &= left[name][rows] == right[name][at]
    return rows[same], at[same]


def overlapping(left: Batches, right: Batches) -> tuple[Batches, Batches]:
    """Pair up, by offset, the batches that have offsets in common: each with the first of the other side at least."""
    if not len(left) or not len(right):
        return left[:0], right[:0]
    of_left = _first_overlapping(left, right)
    of_right = _first_overlapping(right, left)
    lefts = np.concatenate([of_left[0], of_right[1]])
    rights = np.concatenate([of_left[1], of_right[0]])
    pairs = distinct(lefts * len(right) + rights)
    return left[pairs // len(right)], right[pairs % len(right)]


def _first_overlapping(some: Batches, others: Batches) -> tuple[Rows, Rows]:
    """For each of some, the first of the others that has an offset in common with it, where there is one."""
    ends = np.maximum.accumulate(others["last_offset"])
    at = np.searchsorted(ends, some["base_offset"])
    rows = np.flatnonzero(at < len(others))
    rows = rows[others["base_offset"][at[rows]] <= some["last_offset"][rows]]
    return rows, at[rows]


def uncovered(batches: Batches, first: int, end: int) -> list[OffsetRange]:
    """Return the offsets from `first` on and below `end` that no batch has."""
    if end <= first:
        return []
    if not len(batches):
        return [OffsetRange(first, end - 1)]
    reached = np.maximum.accumulate(np.maximum(batches["last_offset"], first - 1))
    before = np.concatenate([[first - 1], reached[:-1]])
    holes = np.flatnonzero((batches["base_offset"] - 1 > before) & (before < end - 1))
    ranges = [OffsetRange(int(before[hole]) + 1, min(int(batches["base_offset"][hole]), end) - 1) for hole in holes]
    if reached[-1] < end - 1:
        ranges.append(OffsetRange(int(reached[-1]) + 1, end - 1))
    return ranges


def without(ranges: list[OffsetRange], others: list[OffsetRange]) -> Iterator[OffsetRange]:
    """Cut out of the ranges what others cover; both rise and neither overlap among themselves."""
    number = 0
    for first, last in ranges:
        start = first
        while number < len(others) and others[number].last < start:
            number += 1
        at = number
        while at < len(others) and others[at].first <= last:
            if others[at].first > start:
                yield OffsetRange(start, others[at].first - 1)
            start = others[at].last + 1
            at += 1
        if start <= last:
            yield OffsetRange(start, last)
