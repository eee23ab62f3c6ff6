"""Lookups in raw index bytes: the same as counting entries in plain Python."""

import struct
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.kernels import search
from tests.logstore.kernels import twins
from tests.logstore.kernels.guarded import guarded
from tests.logstore.kernels.sizes import EXAMPLES

INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
OFFSETS = st.integers(0, 2**31 - 1)
TIMES = st.integers(0, 2**63 - 1)
BASE = st.integers(0, 2**62)
EXTRA_SLOTS = st.integers(0, 3)


@st.composite
def ascending_pairs(draw: st.DrawFn, first: st.SearchStrategy[int]) -> list[tuple[int, int]]:
    keys = sorted(draw(st.sets(first, max_size=20)))
    others = sorted(draw(st.sets(OFFSETS, min_size=len(keys), max_size=len(keys))))
    return list(zip(keys, others, strict=True))


def offset_index(entries: list[tuple[int, int]]) -> bytes:
    return b"".join(struct.pack(">ii", *entry) for entry in entries)


def time_index(entries: list[tuple[int, int]]) -> bytes:
    return b"".join(struct.pack(">qi", *entry) for entry in entries)


@settings(max_examples=EXAMPLES)
@given(ascending_pairs(OFFSETS), BASE, EXTRA_SLOTS, st.lists(st.integers(-5, 2**31), min_size=1))
def test_the_offset_found_is_the_last_not_above(
    entries: list[tuple[int, int]], base: int, zeros: int, relative: list[int]
) -> None:
    targets = [base + target for target in (*relative, *(offset for offset, _ in entries))]
    index = guarded(offset_index(entries) + bytes(8 * zeros))
    numbers = [twins.floor([base + offset for offset, _ in entries], target) for target in targets]
    expected = [(base + entries[n][0], entries[n][1]) if n >= 0 else (base, 0) for n in numbers]
    assert [search.lookup_offset(index, len(entries), base, target) for target in targets] == expected
    found, position = np.empty((2, len(targets)), np.int64)
    search.lookup_offsets(index, len(entries), base, np.array(targets), found, position)
    assert list(zip(found.tolist(), position.tolist(), strict=True)) == expected


@settings(max_examples=EXAMPLES)
@given(ascending_pairs(TIMES), BASE, EXTRA_SLOTS, st.lists(INT64, min_size=1))
def test_the_timestamp_found_is_the_last_not_later(
    entries: list[tuple[int, int]], base: int, zeros: int, others: list[int]
) -> None:
    targets = [*others, *(timestamp for timestamp, _ in entries)]
    index = guarded(time_index(entries) + bytes(12 * zeros))
    numbers = [twins.floor([timestamp for timestamp, _ in entries], target) for target in targets]
    expected = [(entries[n][0], base + entries[n][1]) if n >= 0 else (-1, base) for n in numbers]
    assert [search.lookup_timestamp(index, len(entries), base, target) for target in targets] == expected
    found, offset = np.empty((2, len(targets)), np.int64)
    search.lookup_timestamps(index, len(entries), base, np.array(targets), found, offset)
    assert list(zip(found.tolist(), offset.tolist(), strict=True)) == expected


@settings(max_examples=EXAMPLES)
@given(st.binary(max_size=100), EXTRA_SLOTS, st.sampled_from([8, 12]))
def test_a_zero_tail_holds_no_entries(data: bytes, zeros: int, slot: int) -> None:
    index = data + bytes(slot * zeros)
    assert search.count_entries(guarded(index), slot) == twins.count_entries(index, slot)


def test_a_preallocated_index_is_empty() -> None:
    assert search.count_entries(guarded(bytes(10 << 10)), 8) == 0
    assert search.count_entries(guarded(b""), 8) == 0


@settings(max_examples=EXAMPLES)
@given(ascending_pairs(OFFSETS) | st.lists(st.tuples(INT32, INT32), max_size=5))
def test_the_first_slot_out_of_order_is_found(entries: list[tuple[int, int]]) -> None:
    following = pairwise([(-1, -1), *entries])
    bad = [slot for slot, (a, b) in enumerate(following) if b[0] <= a[0] or b[1] <= a[1]]
    assert search.first_unordered_offset(guarded(offset_index(entries)), len(entries)) == (bad or [-1])[0]


@settings(max_examples=EXAMPLES)
@given(ascending_pairs(TIMES) | st.lists(st.tuples(st.integers(-2, 3), st.integers(-2, 3)), max_size=5))
def test_the_first_time_out_of_order_is_found(entries: list[tuple[int, int]]) -> None:
    following = pairwise([(-1, 0), *entries])
    bad = [slot for slot, (a, b) in enumerate(following) if b[0] <= a[0] or b[1] < a[1]]
    assert search.first_unordered_timestamp(guarded(time_index(entries)), len(entries)) == (bad or [-1])[0]


@given(st.binary(max_size=60), st.integers(0, 2**40), INT64)
def test_damaged_indexes_and_wrong_counts_are_never_read_beyond(data: bytes, entries: int, target: int) -> None:
    index = guarded(data)
    base = 2**40
    found, _ = search.lookup_offset(index, entries, base, target)
    assert found == base or found - base in {struct.unpack_from(">i", data, at)[0] for at in range(0, len(data) - 7, 8)}
    search.lookup_timestamp(index, entries, base, target)
    assert search.first_unordered_offset(index, entries) < max(len(data) // 8, 1)
    assert search.first_unordered_timestamp(index, entries) < max(len(data) // 12, 1)
