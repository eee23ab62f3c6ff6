"""What a consumer of a log is given of its offsets, decided by runs and markers alone."""

import numpy as np
from numpy.typing import NDArray

from epoch.history import MAX_OFFSET
from replication.copies.explain.offset_ranges import Ranges, by_offset, clipped_ranges, is_of, ranges, ranges_of_runs
from replication.copies.explain.offset_runs import CONTROL, PLAIN, RUN, TRANSACTIONAL, Runs, clipped
from replication.copies.explain.table_rows import chosen, stacked
from replication.copies.explain.walked_log import WalkedLog
from replication.copies.explain.why import CODES, Why


def classify(walked: WalkedLog, start: int, end: int, *, cleaned_to: int, committed_only: bool) -> Ranges:
    """Return for each offset from `start` up to `end`, which the log holds, what became of it.

    A gap below `cleaned_to` counts as compacted, and any other as missing. With `committed_only` a consumer is not
    given what was aborted, nor anything from the first open transaction on.
    """
    runs = walked.runs
    found = ranges_of_runs(runs, Why.DELIVERED)
    found["why"][runs["kind"] == CONTROL] = CODES[Why.CONTROL]
    found["why"][runs["is_unreadable"]] = CODES[Why.UNREADABLE]
    if committed_only:
        _of_transactions(found, walked)
    inside = clipped_ranges(found, start, end)
    return by_offset(inside, *gaps(clipped(runs, start, end), start, end, cleaned_to))


def gaps(runs: Runs, start: int, end: int, cleaned_to: int) -> tuple[Ranges, Ranges]:
    """Return the offsets that no run has: those that the cleaner took, and those that are missing.

    The place of a gap is where the batch behind it stands.
    """
    firsts = np.append(start, runs["last"] + 1)
    lasts = np.append(runs["first"] - 1, end - 1)
    files, positions = np.append(runs["file"], -1), np.append(runs["position"], -1)
    is_gap = firsts <= lasts
    firsts, lasts, files, positions = firsts[is_gap], lasts[is_gap], files[is_gap], positions[is_gap]

    def rows(first: NDArray[np.int64], last: NDArray[np.int64], why: Why) -> Ranges:
        kept = first <= last
        made = ranges(first, last, why)
        made["file"], made["position"] = files[kept], positions[kept]
        return made

    compacted = rows(firsts, np.minimum(lasts, cleaned_to - 1), Why.COMPACTED)
    return compacted, rows(np.maximum(firsts, cleaned_to), lasts, Why.MISSING)


def _of_transactions(found: Ranges, walked: WalkedLog) -> None:
    """Mark what was aborted, and what an open transaction holds back."""
    runs, markers = walked.runs, walked.markers
    rows = np.flatnonzero(runs["kind"] == TRANSACTIONAL)
    ends = next_markers(runs[rows], markers)
    is_aborted = ends >= 0
    is_aborted[is_aborted] = markers["is_abort"][ends[is_aborted]]
    aborted, by = rows[is_aborted], markers[ends[is_aborted]]
    found["why"][aborted] = CODES[Why.ABORTED]
    found["decided_by"][aborted] = by["offset"]
    found["file"][aborted], found["position"][aborted] = by["file"], by["position"]
    last_stable = last_stable_offset(walked)
    held_back = (found["first"] >= last_stable) & is_of(found, Why.DELIVERED, Why.UNREADABLE)
    found["why"][held_back] = CODES[Why.OPEN]
    found["decided_by"][held_back] = last_stable


def last_stable_offset(walked: WalkedLog) -> int:
    """Return where the first transaction begins that no marker ends; beyond all offsets where there is none."""
    in_transactions = chosen(walked.runs, walked.runs["kind"] == TRANSACTIONAL)
    begun = stacked((in_transactions, walked.begun), RUN)
    is_open = next_markers(begun, walked.markers) < 0
    return int(begun["first"][is_open].min()) if is_open.any() else MAX_OFFSET


def data_runs(walked: WalkedLog, *, with_open: bool) -> Runs:
    """Return the runs of producers' records, without those that were aborted; `with_open` with undecided ones."""
    runs, markers = walked.runs, walked.markers
    rows = np.flatnonzero(runs["kind"] == TRANSACTIONAL)
    ends = next_markers(runs[rows], markers)
    is_kept = np.full(len(rows), with_open)
    is_kept[ends >= 0] = ~markers["is_abort"][ends[ends >= 0]]
    kept = runs["kind"] == PLAIN
    kept[rows] = is_kept
    kept &= ~runs["is_unreadable"]
    return chosen(runs, kept)


def next_markers(runs: Runs, markers: NDArray[np.void]) -> NDArray[np.int64]:
    """Return of each run the row of the marker that decides on it, its producer's next; -1 where there is none."""
    producers = np.concatenate((runs["producer"], markers["producer"]))
    offsets = np.concatenate((runs["first"], markers["offset"]))
    order = np.lexsort((offsets, producers))
    numbers = np.where(order >= len(runs), np.arange(len(order)), len(order))
    following = np.minimum.accumulate(numbers[::-1])[::-1]  # in this order, the place of the next marker
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    at = following[place[: len(runs)]]
    found = order[np.minimum(at, len(order) - 1)] - len(runs) if len(order) else at
    is_own = at < len(order)
    is_own[is_own] = markers["producer"][found[is_own]] == runs["producer"][is_own]
    return np.where(is_own, found, -1)
