"""Offsets as places: one scale for all that is drawn, and a break where something is not."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.copies.audit.report.axis import ENOUGH, GAP, STUB, Axis
from tests.replication.copies.audit.report.documents import branch, fork, pair

FARTHEST = 2**62


def parted(start: int, focus: int, end: int) -> dict[str, Any]:
    """A partition whose copies part at `focus`."""
    forks = [fork("a", "b", focus, (1, None), (2, None))]
    return {"recommended": "a", "branches": [branch("a", end, start=start)], "pairs": [], "forks": forks}


lengths = st.integers(0, 2**40)


@given(start=st.integers(0, FARTHEST), trunk=lengths, tail=lengths, shares=st.lists(st.floats(0, 1), min_size=2))
def test_higher_offsets_stand_further_right(start: int, trunk: int, tail: int, shares: list[float]) -> None:
    axis = Axis.over(parted(start, start + trunk, start + trunk + tail))
    offsets = sorted(start + int(share * (trunk + tail)) for share in shares)
    places = [x for x in map(axis.x, offsets) if x is not None]
    assert places == sorted(places)
    assert all(0 <= x <= 100 for x in places)


@given(start=st.integers(0, FARTHEST), trunk=lengths, tail=lengths)
def test_all_that_is_drawn_has_one_scale(start: int, trunk: int, tail: int) -> None:
    axis = Axis.over(parted(start, start + trunk, start + trunk + tail))
    scales = [
        (part.right - part.left) / (part.end - part.first) for part in axis.parts if part.end - part.first > 1_000
    ]
    assert all(one == pytest.approx(other, rel=0.01) for one, other in pairwise(scales))
    drawn = sum(part.end - part.first for part in axis.parts)
    left_out = axis.left_out
    assert drawn + (left_out.last + 1 - left_out.first if left_out else 0) == trunk + tail


@given(start=st.integers(0, FARTHEST), trunk=lengths, tail=st.integers(1, 2**40))
def test_what_differs_is_never_left_out_and_has_room(start: int, trunk: int, tail: int) -> None:
    focus, end = start + trunk, start + trunk + tail
    axis = Axis.over(parted(start, focus, end))
    place = axis.x(focus)
    assert place is not None
    assert 100 - place >= ENOUGH * 100 * 0.9
    assert axis.x(end) == pytest.approx(100)


def test_a_short_common_part_is_drawn_whole() -> None:
    axis = Axis.over(parted(0, 300, 420))
    assert axis.left_out is None
    assert axis.x(300) == pytest.approx(100 * 300 / 420)
    assert [*axis.places(0, 420)] == [(0.0, 100.0)]


def test_a_long_common_part_is_left_out_but_for_its_ends() -> None:
    axis = Axis.over(parted(0, 1_000_000, 1_000_100))
    assert axis.left_out == (11, 999_974)
    assert axis.x(500_000) is None
    assert axis.x(0) == 0.0
    before, behind = axis.places(0, 1_000_100)
    assert before == (0.0, STUB)
    assert behind == (STUB + GAP, 100.0)
    assert [*axis.places(50, 900_000)] == [], "nothing of this is drawn"


def test_cuts_and_marks_count_as_differences() -> None:
    partition = {**parted(0, 1_000_000, 1_000_100), "pairs": [pair("a", "b", "forked", 900_000, 3)]}
    assert Axis.over(partition).focus == 900_000
    assert Axis.over(partition, (17, 950_000)).focus == 17
    assert Axis.over(partition, (17, 950_000)).left_out is None


def test_one_that_only_lags_does_not_take_the_place_of_what_is_lost() -> None:
    partition = parted(0, 1_000_000, 1_000_100)
    partition["branches"].append(branch("c", 500_000))
    partition["pairs"] = [pair("a", "c", "lagging", 500_000, 0), pair("c", "a", "ahead", 500_000, 500_100)]
    axis = Axis.over(partition)
    assert (axis.focus, axis.forks) == (1_000_000, (1_000_000,))
    assert axis.x(500_000) is None
    harmless = Axis.over({**partition, "forks": []})
    assert (harmless.focus, harmless.forks) == (500_000, ())
    assert harmless.x(500_000) == pytest.approx(50, rel=0.01)


def test_empty_logs_are_not_drawn() -> None:
    partition = {**parted(70, 70, 70), "forks": []}
    assert not Axis.over(partition).is_drawn
    assert Axis.over(parted(0, 1, 2)).is_drawn
