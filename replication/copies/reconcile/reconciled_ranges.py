"""What became of each offset of a log, held against the rows of a table: decided on ranges alone."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epoch import EpochHistory
from replication.copies.explain.offset_ranges import Ranges, is_of, split
from replication.copies.explain.table_rows import chosen, stacked, taken
from replication.copies.explain.why import CODES as CODES_OF_WHY
from replication.copies.explain.why import WHYS, Why
from replication.copies.reconcile.row_runs import UNKNOWN_EPOCH, RowRuns, summed
from replication.copies.reconcile.status import CODES, NOT_GIVEN, OF_LACKING, OF_ROWS, Status

RECONCILED: Final = np.dtype(
    [
        ("first", np.int64),
        ("last", np.int64),
        ("status", np.int8),  # as STATUSES are numbered
        ("copies", np.int64),  # rows of the table for each of these offsets; 0 where it has none
        ("epoch", np.int64),  # under which they were written; -1 where that is not known
        ("cut_by", np.int64),  # the leader epoch that cut them off; -1 where none did
        ("known", np.int64),  # the range of the log that they lie in; -1 where it does not speak of these rows
        ("is_doubtful", np.bool_),  # rows without an epoch, at offsets of which records were truncated too
    ]
)
Reconciled = NDArray[np.void]
"""Rows of RECONCILED, by offset. Those of the log and of each leader epoch that it does not have do not overlap."""
_NOWHERE: Final = -1
_ROW_CODES: Final = np.array([CODES[OF_ROWS[why]] for why in WHYS], np.int8)
_LACKING_CODES: Final = np.array([CODES[OF_LACKING[why]] for why in WHYS], np.int8)


class LogRanges(NamedTuple):
    """What is known of a log: what became of each offset, as `explain` has it."""

    table: Ranges
    """All offsets from 0 on, up to the end of the table's rows at least."""
    cut_off: Ranges
    """What was truncated, also where the log has other records by now."""
    led: EpochHistory
    """Who led."""
    end: int
    """The log's end offset."""


def reconciled(log: LogRanges, runs: RowRuns) -> Reconciled:
    """Return a status for each offset of the log, and for each row of the table.

    A row that names its leader epoch is of the log only where that epoch has written the offset. If the leader of a
    later epoch has written there since, or its log ended before, the row was truncated; else it was never written.
    """
    epochs, starts = (np.array(column, np.int64) for column in log.led.columns)
    pieces, ours, number = _cut(log, runs, starts, epochs)
    cutter = np.searchsorted(epochs, pieces.epoch, "right")
    is_cut = (cutter < len(epochs)) & (np.append(starts, 0)[cutter] <= pieces.first)
    is_of_log = _is_of_log(pieces.epoch, ours, is_cut, latest=int(epochs[-1]) if len(epochs) else _NOWHERE)
    is_of_log |= log.table["why"][number] == CODES_OF_WHY[Why.EXPIRED]  # whose epochs are not known any more
    foreign, cut_by = pieces.where(~is_of_log), np.append(epochs, _NOWHERE)[cutter][~is_of_log]
    return _by_offset(_of_log(log, pieces.where(is_of_log)), _foreign(foreign, cut_by, is_cut[~is_of_log]))


def findings(rows: Reconciled) -> NDArray[np.bool_]:
    """Return which rows are findings: what the table lacks, has twice, or should not have."""
    should_not = np.isin(rows["status"], [CODES[status] for status in NOT_GIVEN]) & (rows["copies"] > 0)
    found: NDArray[np.bool_] = should_not | (rows["status"] == CODES[Status.MISSING]) | (rows["copies"] > 1)
    return found


def _cut(
    log: LogRanges, runs: RowRuns, starts: NDArray[np.int64], epochs: NDArray[np.int64]
) -> tuple[RowRuns, NDArray[np.int64], NDArray[np.int64]]:
    """Cut runs where ranges of the log and leader epochs begin.

    Returns the pieces, and of each the epoch that has written there, and the range's number.
    """
    cuts = np.union1d(log.table["first"], starts)
    before = np.searchsorted(cuts, runs.first, "right")
    pieces = np.searchsorted(cuts, runs.last, "right") - before + 1
    run = np.repeat(np.arange(len(pieces)), pieces)
    within = np.arange(len(run)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    at = before[run] + within
    first = np.where(within > 0, cuts[at - 1], runs.first[run])
    ends = np.append(cuts, 0)[np.minimum(at, len(cuts))] - 1
    last = np.where(within < pieces[run] - 1, ends, runs.last[run])
    number = np.searchsorted(log.table["first"], first, "right") - 1
    own = log.table["epoch"][number].astype(np.int64)
    led = np.append(epochs, _NOWHERE)[np.searchsorted(starts, first, "right") - 1]
    return RowRuns(runs.epoch[run], first, last, runs.copies[run]), np.where(own >= 0, own, led), number


def _is_of_log(
    epoch: NDArray[np.int64], ours: NDArray[np.int64], is_cut: NDArray[np.bool_], latest: int
) -> NDArray[np.bool_]:
    """Return which pieces the log speaks of: by their epoch, or as nothing speaks against it."""
    is_possible = (ours == _NOWHERE) & ~is_cut & ((epoch <= latest) | (latest == _NOWHERE))
    found: NDArray[np.bool_] = (epoch == UNKNOWN_EPOCH) | (epoch == ours) | is_possible
    return found


def _of_log(log: LogRanges, runs: RowRuns) -> Reconciled:
    """Return the log's offsets, with how many rows the table has of each."""
    first, last, copies = summed([], runs.first, runs.last, runs.copies)
    cut, holder = split(log.table, first, last)
    rows = np.empty(len(cut), RECONCILED)
    rows["first"], rows["last"], rows["epoch"] = cut["first"], cut["last"], cut["epoch"]
    rows["copies"] = np.append(copies, 0)[holder]
    rows["status"] = np.where(holder >= 0, _ROW_CODES[cut["why"]], _LACKING_CODES[cut["why"]])
    rows["cut_by"] = np.where(is_of(cut, Why.TRUNCATED), cut["decided_by"], _NOWHERE)
    rows["known"] = np.searchsorted(log.table["first"], cut["first"], "right") - 1
    rows["is_doubtful"] = False
    # What was never written and the table lacks is no offset of the log.
    rows = chosen(rows, (holder >= 0) | ~is_of(cut, Why.NEVER_WRITTEN))
    return _with_doubts(rows, log, runs.where(runs.epoch == UNKNOWN_EPOCH))


def _with_doubts(rows: Reconciled, log: LogRanges, runs: RowRuns) -> Reconciled:
    """Mark where rows without an epoch may be of what was truncated, as the log has other records there."""
    once = np.ones(len(log.cut_off), np.int64)
    cut_first, cut_last, _ = summed([], log.cut_off["first"], log.cut_off["last"], once)
    once = np.ones(len(cut_first) + len(runs.first), np.int64)
    first, last, both = summed([], np.concatenate((cut_first, runs.first)), np.concatenate((cut_last, runs.last)), once)
    rows, within = split(rows, first[both > 1], last[both > 1])
    rows["is_doubtful"] = (within >= 0) & (rows["first"] < log.end)
    return rows


def _foreign(runs: RowRuns, cut_by: NDArray[np.int64], is_cut: NDArray[np.bool_]) -> Reconciled:
    """Return the rows that the log does not speak of: of another branch, or of none."""
    rows = np.empty(len(runs.first), RECONCILED)
    rows["first"], rows["last"], rows["copies"], rows["epoch"] = runs.first, runs.last, runs.copies, runs.epoch
    rows["status"] = np.where(is_cut, CODES[Status.TRUNCATED], CODES[Status.NEVER_WRITTEN])
    rows["cut_by"] = np.where(is_cut, cut_by, _NOWHERE)
    rows["known"], rows["is_doubtful"] = _NOWHERE, False
    return _joined(rows)


def _by_offset(*parts: Reconciled) -> Reconciled:
    rows = stacked([_joined(each) for each in parts], RECONCILED)
    return taken(rows, np.argsort(rows["first"], kind="stable"))


def _joined(rows: Reconciled) -> Reconciled:
    """Put rows together that follow each other and differ in nothing but their offsets."""
    if not len(rows):
        return rows
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = rows["first"][1:] != rows["last"][:-1] + 1
    for name in RECONCILED.names[2:] if RECONCILED.names else ():
        begins[1:] |= rows[name][1:] != rows[name][:-1]
    starts = np.flatnonzero(begins)
    joined = taken(rows, starts)
    joined["last"] = rows["last"][np.append(starts[1:], len(rows)) - 1]
    return joined
