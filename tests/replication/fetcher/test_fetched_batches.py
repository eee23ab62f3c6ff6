"""How much of an answer is whole, and in which order its epochs come."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import BatchTemplate, Record, encode_batch
from replication.fetcher.fetched_batches import (
    EpochsOutOfOrderError,
    OffsetsOverlapError,
    split_batches,
    whole_batches,
)


def batch(epoch: int, offset: int = 0, count: int = 1) -> bytes:
    records = [Record(offset + number, 0, None, b"v") for number in range(count)]
    return bytes(encode_batch(records, BatchTemplate(leader_epoch=epoch, base_offset=offset)))


def batches(epochs: list[int]) -> list[bytes]:
    return [batch(epoch, offset) for offset, epoch in enumerate(epochs)]


@given(st.lists(st.integers(0, 5), max_size=6).map(sorted), st.data())
def test_what_is_cut_off_is_left_out(epochs: list[int], data: st.DataObject) -> None:
    records = b"".join(batches(epochs))
    cut = data.draw(st.integers(0, len(records)))
    size = len(batch(0))
    assert whole_batches(records[:cut], -1) == records[: cut - cut % size]


@given(st.lists(st.integers(-1, 5), max_size=6), st.integers(-1, 5))
def test_epochs_never_go_back_and_are_never_missing(epochs: list[int], latest_epoch: int) -> None:
    records = b"".join(batches(epochs))
    if [latest_epoch, *epochs] == sorted([latest_epoch, *epochs]) and -1 not in epochs:
        assert whole_batches(records, latest_epoch) == records
    else:
        with pytest.raises(EpochsOutOfOrderError):
            whole_batches(records, latest_epoch)


@given(st.integers(0, 20), st.integers(1, 5), st.integers(-5, 5))
def test_no_batch_begins_within_the_one_before_it(offset: int, count: int, gap: int) -> None:
    after = max(0, offset + count + gap)
    records = batch(3, offset, count) + batch(3, after)
    if after >= offset + count:
        assert whole_batches(records, 3) == records
    else:
        with pytest.raises(OffsetsOverlapError, match=f"begins at offset {after}, .* ends with {offset + count - 1}"):
            whole_batches(records, 3)


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 13, 48])
def test_a_length_that_cannot_be_is_left_for_the_log_to_refuse(length: int) -> None:
    records = bytearray(batch(0))
    records[8:12] = length.to_bytes(4, signed=True)
    assert whole_batches(bytes(records), -1) == records


def test_a_giant_length_is_a_batch_that_is_not_whole() -> None:
    records = bytearray(batch(0))
    records[8:12] = (2**31 - 1).to_bytes(4)
    assert whole_batches(bytes(records), -1) == b""


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(1, 1_000))
def test_parts_are_whole_batches_that_a_segment_takes_at_once(sizes: list[int], most: int) -> None:
    batches = [bytes(encode_batch([Record(0, 0, None, b"v" * size)])) for size in sizes]
    parts = [bytes(part) for part in split_batches(memoryview(b"".join(batches)), most)]
    assert b"".join(parts) == b"".join(batches)
    ends = list(accumulate(map(len, batches)))
    assert set(accumulate(map(len, parts))) <= set(ends)
    for part, following in zip(parts, [*parts[1:], b""], strict=True):
        assert len(part) <= most or part in batches
        first = int.from_bytes(following[8:12]) + 12
        assert not following or len(part) + first > most
