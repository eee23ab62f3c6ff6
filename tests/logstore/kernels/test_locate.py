"""Batches found for a read: the same as by walking over all of them."""

from array import array
from bisect import bisect_right

from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.batch.batches import read_batches
from logstore.kernels.locate import NOT_FOUND, find_batches, floor_value
from tests.logstore.batches import batch
from tests.logstore.kernels.guarded import guarded
from tests.logstore.kernels.sizes import EXAMPLES

BASE = 7
GAPS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 90) | st.just(0), st.booleans()), max_size=12
)
"""Of each batch: the gap before it, its last offset delta, bytes of records, and whether it is indexed."""


@settings(max_examples=EXAMPLES)
@given(GAPS, st.data())
def test_the_batches_found_are_those_of_a_walk(gaps: list[tuple[int, int, int, bool]], draw: st.DataObject) -> None:
    log, next_offset = b"", BASE
    offsets, positions = array("i"), array("I")
    for gap, delta, size, indexed in gaps:
        base_offset = next_offset + gap
        next_offset = base_offset + delta + 1
        if indexed and log:
            offsets.append(next_offset - 1 - BASE)
            positions.append(len(log))
        log += batch(section=bytes(size), base_offset=base_offset, last_offset_delta=delta)
    ends = [0, *(each.position + each.size for each in read_batches(log))]
    visible = draw.draw(st.sampled_from(ends))
    offset, max_bytes = draw.draw(st.integers(BASE, next_offset + 1)), draw.draw(st.integers(0, len(log) + 1))
    if gaps and draw.draw(st.booleans()):
        first, last = sorted(draw.draw(st.tuples(*[st.integers(0, len(gaps) - 1)] * 2)))
        offset, max_bytes = list(read_batches(log))[first].last_offset, ends[last + 1] - ends[first]
    if draw.draw(st.booleans()):
        # As a reader may see the index while an entry is added.
        positions.append(len(log))
    arguments = offsets, positions, BASE, offset, max_bytes, visible
    assert find_batches(memoryview(guarded(log)).toreadonly(), *arguments) == walk(log[:visible], offset, max_bytes)


@settings(max_examples=EXAMPLES)
@given(st.sets(st.integers(0, 50)), st.integers(-1, 51), st.sampled_from(["iI", "qq"]))
def test_the_value_of_the_last_key_that_is_not_above(keys: set[int], key: int, types: str) -> None:
    ascending = sorted(keys)
    values = [100 + each for each in ascending]
    expected = [-7, *values][bisect_right(ascending, key)]
    assert floor_value(array(types[0], ascending), array(types[1], values), key, -7) == expected


def walk(log: bytes, offset: int, max_bytes: int) -> tuple[int, int, int]:
    batches = [each for each in read_batches(log) if each.last_offset >= offset]
    if not batches:
        return NOT_FOUND, 0, 0
    first = batches[0]
    ends = [each.position + each.size for each in batches]
    return first.position, first.size, max([end for end in ends if end - first.position <= max_bytes] + ends[:1])


@settings(max_examples=EXAMPLES)
@given(st.binary(max_size=200), st.lists(st.integers(0, 300), max_size=5), st.integers(-9, 300), st.integers(0, 300))
def test_nothing_is_read_beyond_the_end_of_damaged_bytes(
    log: bytes, index: list[int], offset: int, max_bytes: int
) -> None:
    ascending = sorted(index)
    offsets, positions = array("i", ascending), array("I", ascending)
    start, size, end = find_batches(
        memoryview(guarded(log)).toreadonly(), offsets, positions, 0, offset, max_bytes, len(log)
    )
    assert start == NOT_FOUND or 0 <= start < start + size <= end
