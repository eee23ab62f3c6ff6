"""Ranges of a log held against runs of rows, compared with deciding offset by offset and row by row."""

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from epoch import EpochHistory
from replication.copies.explain.offset_ranges import RANGE, Ranges, ordered, ranges
from replication.copies.explain.why import Why
from replication.copies.reconcile.reconciled_ranges import LogRanges, findings, reconciled
from replication.copies.reconcile.row_runs import RowRuns, summed
from replication.copies.reconcile.status import STATUSES

Row = tuple[int, int]
"""Offset and leader epoch; -1 where the row names none."""


class Model(NamedTuple):
    """A log offset by offset, and the rows of a table one by one."""

    whys: list[Why]
    end: int
    """The log's: what is behind it, was cut off, is lost, or was never written."""
    led: list[tuple[int, int]]
    """Epochs with where they begin."""
    cut_off: list[tuple[int, int, int]]
    """Offset, leader epoch, and the one that cut it off."""
    rows: list[Row]

    def writer(self, offset: int) -> int:
        """The leader epoch that wrote what the log has, or had, at an offset; -1 where the log does not reach."""
        return max((epoch for epoch, start in self.led if start <= offset < self.end), default=-1)


@st.composite
def models(draw: st.DrawFn) -> Model:
    starts = sorted(draw(st.sets(st.integers(0, 20), max_size=4)))
    epochs = sorted(draw(st.sets(st.integers(0, 7), min_size=len(starts), max_size=len(starts))))
    led = list(zip(epochs, starts, strict=True))
    end = draw(st.integers(max(starts, default=0), 24))
    begin = draw(st.integers(0, end))
    inside = st.sampled_from([Why.DELIVERED, Why.CONTROL, Why.ABORTED, Why.OPEN, Why.COMPACTED, Why.MISSING])
    whys = [Why.EXPIRED] * begin + draw(st.lists(inside, min_size=end - begin, max_size=end - begin))
    cut_off = []
    behind = draw(st.integers(0, 6))
    for epoch in range(8):
        cutters = [each for each in epochs if each > epoch]
        if cutters and draw(st.booleans()):
            start = dict(led)[cutters[0]]
            cutter = draw(st.sampled_from(cutters))
            cut_off += [(offset, epoch, cutter) for offset in range(start, draw(st.integers(start, end + behind)))]
    of_branch = {offset for offset, _, _ in cut_off}
    whys += [Why.TRUNCATED if offset in of_branch else Why.MISSING for offset in range(end, end + behind)]
    spans = draw(st.lists(st.tuples(st.integers(0, 34), st.integers(1, 12), st.integers(-1, 8)), max_size=8))
    rows = [(offset, epoch) for first, size, epoch in spans for offset in range(first, min(first + size, 35))]
    whys += [Why.NEVER_WRITTEN] * max(35 - len(whys), 0)
    return Model(whys, end, led, cut_off, rows)


def _next(led: list[tuple[int, int]], epoch: int) -> int | None:
    return min((each for each, _ in led if each > epoch), default=None)


def as_table(model: Model) -> Ranges:
    parts = [np.empty(0, RANGE)]
    branch = {offset: (epoch, cutter) for offset, epoch, cutter in reversed(model.cut_off)}
    for offset, why in enumerate(model.whys):
        row = ranges(offset, offset, why)
        if why is Why.TRUNCATED:
            row["epoch"], row["decided_by"] = branch[offset]
        elif why in {Why.DELIVERED, Why.CONTROL, Why.ABORTED, Why.OPEN}:
            row["epoch"] = model.writer(offset)
        parts.append(row)
    return ordered(*parts)


def as_cut_off(model: Model) -> Ranges:
    rows = [ranges(offset, offset, Why.TRUNCATED) for offset, _, _ in model.cut_off]
    return np.concatenate([np.empty(0, RANGE), *rows])


def as_runs(rows: list[Row]) -> RowRuns:
    offset, epoch = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    return RowRuns(*summed([epoch], offset, offset, np.ones(len(rows), np.int64)))


def status_of_row(model: Model, offset: int, epoch: int) -> tuple[str, int, bool]:
    """What a row is, the epoch that cut it off, and whether the log speaks of it."""
    why, writer = model.whys[offset], model.writer(offset)
    by_offset = {Why.EXPIRED: "before-log-start", Why.MISSING: "unread"}.get(why, why.value)
    branch = next(((e, by) for at, e, by in model.cut_off if at == offset), (-1, -1))
    cut_by = branch[1] if why is Why.TRUNCATED else -1
    if epoch in {-1, writer} or why is Why.EXPIRED or (why is Why.TRUNCATED and epoch == branch[0]):
        return by_offset, cut_by, True
    cutter = _next(model.led, epoch)
    if cutter is not None and dict(model.led)[cutter] <= offset:
        return "truncated", cutter, False
    is_possible = not model.led or epoch <= model.led[-1][0]
    if writer == -1 and why is not Why.TRUNCATED and is_possible:
        return by_offset, cut_by, True
    return "never-written", -1, False


@given(models())
@example(Model([Why.COMPACTED] * 35, 35, [(1, 0), (3, 5)], [], [(at, epoch) for epoch in (1, 3) for at in range(3, 8)]))
@example(Model([Why.DELIVERED] * 5 + [Why.NEVER_WRITTEN] * 30, 5, [(3, 0), (5, 2)], [], [(2, 3), (2, 5), (7, 4)]))
def test_each_offset_and_each_row_has_its_status(model: Model) -> None:
    rows = reconciled(
        LogRanges(as_table(model), as_cut_off(model), EpochHistory(model.led), model.end), as_runs(model.rows)
    )
    expected: Counter[tuple[int, str, int]] = Counter()
    had = set()
    for offset, epoch in model.rows:
        status, cut_by, is_of_log = status_of_row(model, offset, epoch)
        expected[offset, status, cut_by] += 1
        had |= {offset} if is_of_log else set()
    found = Counter(
        {
            (offset, STATUSES[row["status"]].value, int(row["cut_by"])): 0
            for row in rows
            for offset in range(int(row["first"]), int(row["last"]) + 1)
        }
    )
    for row in rows:
        for offset in range(int(row["first"]), int(row["last"]) + 1):
            found[offset, STATUSES[row["status"]].value, int(row["cut_by"])] += int(row["copies"])
    assert +found == expected
    lacking = {
        offset: STATUSES[row["status"]].value
        for row in rows
        if row["copies"] == 0
        for offset in range(int(row["first"]), int(row["last"]) + 1)
    }
    words = {Why.EXPIRED: "before-log-start", Why.MISSING: "unread", Why.DELIVERED: "missing"}
    assert lacking == {
        offset: words.get(why, why.value)
        for offset, why in enumerate(model.whys)
        if offset not in had and why is not Why.NEVER_WRITTEN
    }


@given(models())
def test_rows_without_an_epoch_are_doubtful_where_records_were_truncated_too(model: Model) -> None:
    rows = reconciled(
        LogRanges(as_table(model), as_cut_off(model), EpochHistory(model.led), model.end), as_runs(model.rows)
    )
    doubtful = {o for row in rows if row["is_doubtful"] for o in range(int(row["first"]), int(row["last"]) + 1)}
    cut_off = {offset for offset, _, _ in model.cut_off if offset < model.end}
    assert doubtful == cut_off & {offset for offset, epoch in model.rows if epoch == -1}


@given(models())
def test_findings_are_what_is_lacking_twice_or_should_not_be_there(model: Model) -> None:
    rows = reconciled(
        LogRanges(as_table(model), as_cut_off(model), EpochHistory(model.led), model.end), as_runs(model.rows)
    )
    wrong = {"control-marker", "aborted-transaction", "open-transaction", "truncated", "never-written"}
    for row, is_finding in zip(rows, findings(rows).tolist(), strict=True):
        status = STATUSES[row["status"]].value
        assert is_finding == (status == "missing" or row["copies"] > 1 or (status in wrong and row["copies"] > 0))


@given(models())
def test_ranges_are_in_order_and_joined(model: Model) -> None:
    rows = reconciled(
        LogRanges(as_table(model), as_cut_off(model), EpochHistory(model.led), model.end), as_runs(model.rows)
    )
    assert all(a["first"] <= b["first"] for a, b in pairwise(rows))
    own = rows[rows["known"] >= 0]
    assert all(a["last"] < b["first"] for a, b in pairwise(own))
    others = ["status", "copies", "epoch", "cut_by", "known", "is_doubtful"]
    for a, b in pairwise(own):
        assert a["last"] + 1 < b["first"] or a[others] != b[others]
