"""Which segments an offset concerns, against a look at each of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.base_offsets import first_unflushed, number_of_holder

BASE_OFFSETS = st.lists(st.integers(0, 50), unique=True, max_size=8).map(sorted)
OFFSETS = st.integers(0, 60)


@given(base_offsets=BASE_OFFSETS, offset=OFFSETS)
def test_an_offset_is_in_the_last_segment_that_does_not_begin_behind_it(base_offsets: list[int], offset: int) -> None:
    begun = [number for number, base_offset in enumerate(base_offsets) if base_offset <= offset]
    assert number_of_holder(base_offsets, offset) == (begun[-1] if begun else 0)


@given(base_offsets=BASE_OFFSETS, recovery_point=OFFSETS)
def test_all_from_the_recovery_point_on_may_be_unflushed(base_offsets: list[int], recovery_point: int) -> None:
    first = first_unflushed(base_offsets, recovery_point, clean_shutdown=False)
    assert first == number_of_holder(base_offsets, recovery_point)


@pytest.mark.parametrize("base_offsets", [[], [0], [0, 10, 20]])
def test_none_is_unflushed_after_a_clean_shutdown(base_offsets: list[int]) -> None:
    first = first_unflushed(base_offsets, 10, clean_shutdown=True)
    assert base_offsets[first:] == []
