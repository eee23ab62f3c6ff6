"""Which of a log's segments an offset concerns: found in their base offsets, which ascend."""

from bisect import bisect_right
from collections.abc import Sequence


def number_of_holder(base_offsets: Sequence[int], offset: int) -> int:
    """Return the number of the segment that `offset` is in; the first where it is below all, or there is none."""
    return max(bisect_right(base_offsets, offset) - 1, 0)


def first_unflushed(base_offsets: Sequence[int], recovery_point: int, *, clean_shutdown: bool) -> int:
    """Return the number of the first segment that may hold what was not flushed; how many there are if none does."""
    return len(base_offsets) if clean_shutdown else number_of_holder(base_offsets, recovery_point)
