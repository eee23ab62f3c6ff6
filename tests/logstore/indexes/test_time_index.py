"""TimeIndex: entries, preallocated zeros, and the floor of a timestamp."""

import struct
from bisect import bisect_right

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from logstore.indexes.time_index import TimeIndex, TimeIndexEntry
from tests.data.replicas import LABELS
from tests.logstore.golden import golden_segments

ENTRIES = st.lists(st.tuples(st.integers(1, 2**62), st.integers(0, 2**31 - 1)), max_size=50).map(sorted)


def encode(entries: list[tuple[int, int]]) -> bytes:
    return b"".join(struct.pack(">qi", *entry) for entry in entries)


@pytest.mark.parametrize("label", LABELS)
def test_indexes_hold_what_kafka_says(label: str) -> None:
    for segment in golden_segments(label):
        said = segment.truth["timeindex"]
        if said is None:
            continue
        index = TimeIndex.read(segment.path("timeindex"), segment.base_offset)
        assert {
            "size": segment.path("timeindex").stat().st_size,
            "slots": index.slots,
            "entries": len(index),
            "zero_tail_slots": index.zero_slots,
            "odd_bytes": index.odd_bytes,
            "first": index.first and list(index.first),
            "last": index.last and list(index.last),
        } == said


@given(ENTRIES, st.integers(0, 2**40), st.integers(0, 20), st.integers(0, 11))
def test_zeros_after_the_last_entry_are_no_entries(
    entries: list[tuple[int, int]], base_offset: int, zeros: int, odd: int
) -> None:
    assume(entries or zeros != 1)
    index = TimeIndex.parse(encode(entries) + bytes(12 * zeros + odd), base_offset)
    assert index.entries == [TimeIndexEntry(timestamp, base_offset + relative) for timestamp, relative in entries]
    assert (index.zero_slots, index.odd_bytes) == (zeros, odd)
    assert (index.first, index.last) == ((index.entries[0], index.entries[-1]) if entries else (None, None))


def test_a_lone_slot_of_zeros_is_the_entry_of_timestamp_0() -> None:
    assert TimeIndex.parse(bytes(12), 500).entries == [TimeIndexEntry(0, 500)]


@given(ENTRIES, st.integers(0, 2**40), st.integers(-1, 2**62))
def test_lookup_finds_the_last_entry_at_or_before(
    entries: list[tuple[int, int]], base_offset: int, timestamp: int
) -> None:
    index = TimeIndex.parse(encode(entries), base_offset)
    before = bisect_right([each for each, _ in entries], timestamp)
    expected = index.entries[before - 1] if before else TimeIndexEntry(-1, base_offset)
    assert index.lookup(timestamp) == expected
