"""Tables of ranges: cut anywhere, put together again, and compared with offsets one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from replication.copies.explain.classification import next_markers
from replication.copies.explain.explanation import runs_of_offsets
from replication.copies.explain.offset_ranges import RANGE, Ranges, clipped_ranges, ordered, ranges, split
from replication.copies.explain.offset_runs import RUN
from replication.copies.explain.walked_log import MARKER
from replication.copies.explain.why import WHYS, Why

offset_sets = st.frozensets(st.integers(0, 60))
tables = st.lists(st.tuples(st.integers(1, 6), st.sampled_from([Why.DELIVERED, Why.MISSING, None])), max_size=12)


def table(lengths: list[tuple[int, Why | None]]) -> Ranges:
    parts, offset = [np.empty(0, RANGE)], 0
    for length, why in lengths:
        if why is not None:
            parts.append(ranges(offset, offset + length - 1, why))
        offset += length
    return np.concatenate(parts)


def expanded(rows: Ranges) -> dict[int, Why]:
    return {offset: WHYS[row["why"]] for row in rows for offset in range(int(row["first"]), int(row["last"]) + 1)}


@given(tables, offset_sets)
def test_a_table_is_cut_at_ranges_and_each_piece_knows_its_own(
    lengths: list[tuple[int, Why | None]], chosen: frozenset[int]
) -> None:
    rows = table(lengths)
    first, last = runs_of_offsets(np.array(sorted(chosen), np.int64))
    cut, within = split(rows, first, last)
    assert expanded(cut) == expanded(rows)
    assert sum(int(row["last"] - row["first"]) + 1 for row in cut) == len(expanded(rows)), "no offset is there twice"
    for row, number in zip(cut, within.tolist(), strict=True):
        inside = {offset in chosen for offset in range(int(row["first"]), int(row["last"]) + 1)}
        assert inside == {number >= 0}
        assert number < 0 or first[number] <= row["first"] <= row["last"] <= last[number]


@given(tables, offset_sets)
def test_what_was_cut_is_put_together_again(lengths: list[tuple[int, Why | None]], chosen: frozenset[int]) -> None:
    rows = table(lengths)
    first, last = runs_of_offsets(np.array(sorted(chosen), np.int64))
    cut, _ = split(rows, first, last)
    assert ordered(cut[::-1]).tolist() == ordered(rows).tolist()


@given(tables, st.integers(0, 60), st.integers(0, 60))
def test_a_table_is_clipped_to_offsets(lengths: list[tuple[int, Why | None]], start: int, end: int) -> None:
    rows = table(lengths)
    inside = {offset: why for offset, why in expanded(rows).items() if start <= offset < end}
    assert expanded(clipped_ranges(rows, start, end)) == inside


@given(st.lists(st.integers(0, 60)))
def test_offsets_in_any_order_are_runs(offsets: list[int]) -> None:
    first, last = runs_of_offsets(np.array(offsets, np.int64))
    covered = [offset for a, b in zip(first.tolist(), last.tolist(), strict=True) for offset in range(a, b + 1)]
    assert covered == sorted(set(offsets))
    assert (first[1:] > last[:-1] + 1).all()


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=40))
def test_a_producers_next_marker_decides(steps: list[tuple[int, bool]]) -> None:
    data = [(offset, producer) for offset, (producer, is_marker) in enumerate(steps) if not is_marker]
    ends = [(offset, producer) for offset, (producer, is_marker) in enumerate(steps) if is_marker]
    runs, markers = np.zeros(len(data), RUN), np.zeros(len(ends), MARKER)
    runs["first"], runs["producer"] = [at for at, _ in data], [producer for _, producer in data]
    markers["offset"], markers["producer"] = [at for at, _ in ends], [producer for _, producer in ends]
    expected = [
        next((number for number, (at, who) in enumerate(ends) if who == producer and at > offset), -1)
        for offset, producer in data
    ]
    assert next_markers(runs, markers).tolist() == expected
