"""How much of an answer is whole, and in which order its epochs come."""

import struct
from contextlib import nullcontext, suppress
from itertools import accumulate

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logstore import BatchTemplate, CorruptBatchError, Record, encode_batch
from logstore.errors import InvalidBatchHeaderError
from replication.cluster.fetcher.fetched_batches import (
    EpochsOutOfOrderError,
    GapAboveHighWatermarkError,
    OffsetsOverlapError,
    before_offset,
    split_batches,
    whole_batches,
)
from tests.logstore import batches as log_batches


def batch(epoch: int, offset: int = 0, count: int = 1) -> bytes:
    records = [Record(offset + number, 0, None, b"v") for number in range(count)]
    return bytes(encode_batch(records, BatchTemplate(leader_epoch=epoch, base_offset=offset)))


SMALLEST_MESSAGE = struct.pack(">qiiBBii", 4, 14, 0, 0, 0, -1, -1)
"""Of magic 0, at offset 4, without key and value; nobody looks at its checksum here."""


def batches(epochs: list[int]) -> list[bytes]:
    return [batch(epoch, offset) for offset, epoch in enumerate(epochs)]


@given(st.lists(st.integers(0, 5), max_size=6).map(sorted), st.data())
def test_what_is_cut_off_is_left_out(epochs: list[int], data: st.DataObject) -> None:
    records = b"".join(batches(epochs))
    cut = data.draw(st.integers(0, len(records)))
    size = len(batch(0))
    assert whole_batches(records[:cut], -1).data == records[: cut - cut % size]


@given(st.lists(st.integers(-1, 5), max_size=6), st.integers(-1, 5))
def test_epochs_never_go_back_and_are_never_missing(epochs: list[int], latest_epoch: int) -> None:
    records = b"".join(batches(epochs))
    if [latest_epoch, *epochs] == sorted([latest_epoch, *epochs]) and -1 not in epochs:
        assert whole_batches(records, latest_epoch).data == records
    else:
        with pytest.raises(EpochsOutOfOrderError):
            whole_batches(records, latest_epoch)


@pytest.mark.parametrize(
    ("epoch", "told"),
    [(-1, "at offset 7 has no leader epoch"), (0, "has epoch 0, but follows one of epoch 3"), (2, "has epoch 2, ")],
)
def test_an_epoch_out_of_order_is_named(epoch: int, told: str) -> None:
    with pytest.raises(EpochsOutOfOrderError, match=told):
        whole_batches(batch(epoch, 7), 3)


def test_no_offset_is_negative() -> None:
    with pytest.raises(InvalidBatchHeaderError, match="base offset -1"):
        whole_batches(b"\xff" * 8 + batch(0)[8:], -1)


def test_a_batch_of_which_compaction_left_nothing_is_a_batch() -> None:
    empty = log_batches.batch(base_offset=5, leader_epoch=3)
    assert whole_batches(empty, 3, 5).data == empty
    assert list(split_batches(memoryview(empty), 100)) == [empty]


def test_the_smallest_message_is_one_too() -> None:
    whole = whole_batches(SMALLEST_MESSAGE * 2, 3, 4)
    assert whole.data == SMALLEST_MESSAGE * 2
    assert whole.last == (4, 3, 5, 3)
    assert list(split_batches(whole.data, 1)) == [SMALLEST_MESSAGE] * 2


@pytest.mark.parametrize(
    "damaged",
    [batch(2, 4), batch(3, 4, 2) + batch(3, 5), batch(3, 4) + batch(3, 9)],
    ids=["epochs out of order", "offsets overlap", "gap"],
)
def test_damage_is_told_before_any_disorder(damaged: bytes) -> None:
    with pytest.raises(ValueError, match=r"follows one|the one before it|instead of"):
        whole_batches(damaged, 3, 4, high_watermark=6)
    with pytest.raises(CorruptBatchError):
        whole_batches(damaged[:-1] + b"x", 3, 4, high_watermark=6)


@given(st.integers(0, 20), st.integers(1, 5), st.integers(-5, 5))
def test_no_batch_begins_within_the_one_before_it(offset: int, count: int, gap: int) -> None:
    after = max(0, offset + count + gap)
    records = batch(3, offset, count) + batch(3, after)
    if after >= offset + count:
        assert whole_batches(records, 3).data == records
    else:
        with pytest.raises(OffsetsOverlapError, match=f"begins at offset {after}, .* ends with {offset + count - 1}"):
            whole_batches(records, 3)


@pytest.mark.parametrize("length", [-(2**31), -13, -12, -1, 0, 13, 48])
@pytest.mark.parametrize("position", [0, 1])
def test_a_length_that_no_batch_has_is_refused_wherever_it_stands(length: int, position: int) -> None:
    parts = [bytearray(batch(0, 0)), bytearray(batch(0, 1)), bytearray(batch(0, 2))]
    parts[position][8:12] = length.to_bytes(4, signed=True)
    with pytest.raises(InvalidBatchHeaderError):
        whole_batches(b"".join(parts), -1)
    with pytest.raises(InvalidBatchHeaderError):
        list(split_batches(memoryview(b"".join(parts)), 100))


def test_a_giant_length_is_a_batch_that_is_not_whole() -> None:
    records = bytearray(batch(0))
    records[8:12] = (2**31 - 1).to_bytes(4)
    assert whole_batches(bytes(records), -1).data == b""


@pytest.mark.parametrize(("cut", "is_told"), [(16, False), (17, True)])
def test_a_length_is_looked_at_once_the_magic_is_there(cut: int, *, is_told: bool) -> None:
    start = (b"\0" * 11 + b"\x05" + batch(0)[12:])[:cut]
    with pytest.raises(InvalidBatchHeaderError) if is_told else nullcontext():
        assert whole_batches(start, -1).data == b""


@given(st.binary(max_size=400))
@example(b"\0" * 11 + b"\x05" + b"\0" * 5)
def test_any_bytes_end_in_an_error_or_in_whole_batches(data: bytes) -> None:
    with suppress(CorruptBatchError, EpochsOutOfOrderError, OffsetsOverlapError):
        whole = whole_batches(data, -1).data
        assert b"".join(map(bytes, split_batches(whole, 100))) == whole


@given(st.integers(0, 8 * 3 * len(batch(0)) - 1))
@example(8 * len(batch(0)) + 7)
def test_what_is_said_of_a_damaged_answer_is_that_its_checksum_fails(bit: int) -> None:
    """Not that offsets or epochs are out of order, which a damaged batch cannot know."""
    records = bytearray(b"".join(batches([3, 3, 3])))
    records[bit // 8] ^= 1 << bit % 8
    place = bit // 8 % len(batch(0))
    try:
        whole_batches(bytes(records), 3, 0)
    except (EpochsOutOfOrderError, OffsetsOverlapError):
        # No checksum covers these: the first offset, and the epoch.
        assert place < 8 or 12 <= place < 16
    except InvalidBatchHeaderError:
        assert place >= 8 or (place == 0 and bit % 8 == 7), "no offset is negative"
    except CorruptBatchError:
        assert place >= 8


@pytest.mark.parametrize(
    ("offsets", "epochs", "expected", "continues"),
    [
        ([4, 5, 6], [1, 1, 1], (6, 1, 6, 1), True),
        ([4, 5, 9], [1, 1, 1], (9, 1, 6, 1), False),
        ([4, 8, 9], [1, 1, 1], (9, 1, 9, 1), True),
        ([4, 5], [1, 2], (5, 2, 5, 1), False),
        ([4, 5], [2, 2], (5, 2, 5, 2), True),
        ([4], [1], (4, 1, 4, 1), True),
        ([9], [1], (9, 1, 4, 1), False),
        ([4], [3], (4, 3, 4, 1), False),
        ([3], [1], (3, 1, 4, 1), True),
        ([], [], (4, 1, 4, 1), True),
    ],
)
def test_how_the_last_batch_goes_on(
    offsets: list[int], epochs: list[int], expected: tuple[int, int, int, int], *, continues: bool
) -> None:
    parts = [batch(epoch, offset) for epoch, offset in zip(epochs, offsets, strict=True)]
    whole = whole_batches(b"".join(parts), 1, 4)
    assert whole.last == expected
    assert whole.last.continues == continues
    assert whole.last_position == len(b"".join(parts[:-1]))
    assert str(whole.last) == f"at offset {expected[0]} in epoch {expected[1]}"


@pytest.mark.parametrize("latest_epoch", [-1, 0])
def test_the_first_epoch_of_all_is_0(latest_epoch: int) -> None:
    assert whole_batches(batch(0, 4), latest_epoch, 4).last.continues
    assert not whole_batches(batch(1, 4), latest_epoch, 4).last.continues


def test_above_the_high_watermark_there_is_no_gap() -> None:
    records = b"".join(batch(0, offset) for offset in (4, 6, 7))
    assert whole_batches(records, -1, 4, 7).data == records
    assert whole_batches(records, -1, 4, 4 + 3).data == records
    with pytest.raises(GapAboveHighWatermarkError, match=r"begins at offset 6 instead of 5, above .* watermark 6,"):
        whole_batches(records, -1, 4, 6)


@pytest.mark.parametrize(("offset", "expected"), [(0, 0), (4, 0), (5, 1), (6, 2), (99, 3)])
def test_what_begins_below_an_offset(offset: int, expected: int) -> None:
    parts = [batch(0, 4), batch(0, 5), batch(0, 8)]
    assert before_offset(memoryview(b"".join(parts)), offset) == b"".join(parts[:expected])


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(1, 1_000))
@example([1, 1, 1, 1], 2 * len(batch(0)))
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
