"""Rows of a table as runs, compared with counting them one by one."""

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from replication.copies.reconcile.row_runs import summed

spans = st.tuples(st.integers(0, 2), st.integers(-2, 40), st.integers(0, 9), st.integers(1, 3))


@given(st.lists(spans))
def test_runs_are_added_up_offset_by_offset(given_runs: list[tuple[int, int, int, int]]) -> None:
    columns = [np.array(column, np.int64) for column in zip(*given_runs, strict=True)] or [np.empty(0, np.int64)] * 4
    key, first, length, copies = columns
    expected: Counter[tuple[int, int]] = Counter()
    for number, start, size, count in given_runs:
        expected.update({(number, start + each): count for each in range(size + 1)})
    rows = list(zip(*(column.tolist() for column in summed([key], first, first + length, copies)), strict=True))
    found = {(number, offset): count for number, a, b, count in rows for offset in range(a, b + 1)}
    assert found == expected
    assert sum(b - a + 1 for _, a, b, _ in rows) == len(found), "no offset is there twice"
    assert [(number, a) for number, a, *_ in rows] == sorted((number, a) for number, a, *_ in rows)
    for (key_a, _, end, count_a), (key_b, start, _, count_b) in pairwise(rows):
        assert (key_a, end + 1, count_a) != (key_b, start, count_b), "what follows each other is one run"


def test_the_largest_offsets_are_added_up() -> None:
    top = 2**63 - 2
    columns = summed([], np.array([top - 1, top]), np.array([top, top]), np.array([1, 1]))
    assert [column.tolist() for column in columns] == [[top - 1, top], [top - 1, top], [1, 2]]
