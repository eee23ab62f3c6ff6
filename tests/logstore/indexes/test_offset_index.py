"""OffsetIndex: entries, preallocated zeros, and the floor of an offset."""

import struct
from bisect import bisect_right
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.errors import CorruptIndexError
from logstore.files.index_slots import MAX_INDEX_BYTES
from logstore.indexes.offset_index import OffsetIndex, OffsetIndexEntry
from logstore.offline.log_file import LogFile
from tests.data.replicas import LABELS
from tests.logstore.golden import golden_segments

ENTRIES = st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(1, 2**31 - 1)), max_size=50).map(sorted)


def encode(entries: list[tuple[int, int]]) -> bytes:
    return b"".join(struct.pack(">ii", *entry) for entry in entries)


@pytest.mark.parametrize("label", LABELS)
def test_indexes_hold_what_kafka_says(label: str) -> None:
    for segment in golden_segments(label):
        said = segment.truth["index"]
        if said is None:
            continue
        index = OffsetIndex.read(segment.path("index"), segment.base_offset)
        assert {
            "size": segment.path("index").stat().st_size,
            "slots": index.slots,
            "entries": len(index),
            "zero_tail_slots": index.zero_slots,
            "odd_bytes": index.odd_bytes,
            "first": index.first and list(index.first),
            "last": index.last and list(index.last),
        } == said


@pytest.mark.parametrize("label", LABELS)
def test_every_entry_is_a_batch_s_last_offset_and_position(label: str) -> None:
    for segment in golden_segments(label):
        if segment.truth["index"] is None:
            continue
        batches = {(each.last_offset, each.position) for each in LogFile.open(segment.path("log")).batches()}
        assert batches.issuperset(OffsetIndex.read(segment.path("index"), segment.base_offset).entries)


@given(ENTRIES, st.integers(0, 2**40), st.integers(0, 20), st.integers(0, 7))
def test_zeros_after_the_last_entry_are_no_entries(
    entries: list[tuple[int, int]], base_offset: int, zeros: int, odd: int
) -> None:
    index = OffsetIndex.parse(encode(entries) + bytes(8 * zeros + odd), base_offset)
    assert index.entries == [OffsetIndexEntry(base_offset + relative, position) for relative, position in entries]
    assert (index.zero_slots, index.odd_bytes) == (zeros, odd)
    assert (index.first, index.last) == ((index.entries[0], index.entries[-1]) if entries else (None, None))


@given(ENTRIES, st.integers(0, 2**40), st.integers(-10, 2**31))
def test_lookup_finds_the_last_entry_at_or_below(
    entries: list[tuple[int, int]], base_offset: int, relative: int
) -> None:
    index = OffsetIndex.parse(encode(entries), base_offset)
    below = bisect_right([each for each, _ in entries], relative)
    expected = index.entries[below - 1] if below else OffsetIndexEntry(base_offset, 0)
    assert index.lookup(base_offset + relative) == expected


def test_a_long_zero_tail_is_found_from_its_end() -> None:
    index = OffsetIndex.parse(encode([(5, 100)]) + bytes(8 << 20), 0)
    assert (len(index), index.slots) == (1, (1 << 20) + 1)


def test_more_bytes_than_any_index_has_are_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "0.index"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(CorruptIndexError) as caught:
        OffsetIndex.read(path, 0)
    assert caught.value.file == str(path)
    assert f"{MAX_INDEX_BYTES:,}" in str(caught.value)
