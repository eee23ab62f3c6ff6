"""The latest offset of each key, as far as memory reaches."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from logstore.compaction.offset_map import BYTES_PER_KEY, LONGEST_KEY, OffsetMap

KEYS = st.binary(max_size=LONGEST_KEY + 3)


@given(st.lists(KEYS))
def test_it_knows_the_latest_offset_of_each_key(keys: list[bytes]) -> None:
    offsets = OffsetMap()
    for offset, key in enumerate(keys):
        assert offsets.put(key, offset)
    assert {key: offsets.latest(key) for key in keys} == {key: offset for offset, key in enumerate(keys)}
    assert offsets.latest_offset == len(keys) - 1
    assert offsets.latest(b"never seen" * 5) == -1


@given(st.lists(KEYS), st.integers(1, 5))
def test_a_full_map_takes_no_more(keys: list[bytes], most: int) -> None:
    offsets, taken = OffsetMap(most), list[bytes]()
    for offset, key in enumerate(keys):
        if not offsets.put(key, offset):
            break
        taken.append(key)
    assert len(offsets) == len(set(taken)) <= most
    assert len(taken) == len(keys) or len(set(taken)) == most
    assert offsets.latest_offset == len(taken) - 1


def test_a_key_takes_no_more_memory_than_is_said() -> None:
    for size in (4, LONGEST_KEY - 1, 1_000):
        offsets = OffsetMap()
        tracemalloc.start()
        for number in range(90_000):  # just after the dictionary has grown
            offsets.put(b"%0*d" % (size, number), 2**40 + number)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most <= BYTES_PER_KEY * len(offsets)
