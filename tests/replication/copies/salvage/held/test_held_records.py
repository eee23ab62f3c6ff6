"""Ranges of sequence numbers hold what was added, and nothing else."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from replication.copies.salvage.held.held_records import Part, SequenceRanges

RANGES = st.tuples(st.integers(0, 40), st.integers(0, 6)).map(lambda each: (each[0], each[0] + each[1]))


@given(st.lists(RANGES, max_size=12), RANGES)
def test_ranges_are_a_set_of_numbers(added: list[tuple[int, int]], asked: tuple[int, int]) -> None:
    ranges, numbers = SequenceRanges(), set[int]()
    for first, last in added:
        ranges.add(first, last)
        numbers.update(range(first, last + 1))
    wanted = set(range(asked[0], asked[1] + 1))
    part = Part.ALL if wanted <= numbers else Part.SOME if wanted & numbers else Part.NONE
    assert ranges.part_of(*asked) is part
    assert all(last + 1 < first for last, first in pairwise_bounds(ranges)), "they do not touch"


def pairwise_bounds(ranges: SequenceRanges) -> list[tuple[int, int]]:
    """The end of each range, and the start of the next one."""
    return [(one[1], other[0]) for one, other in pairwise(zip(ranges.firsts, ranges.lasts, strict=True))]
