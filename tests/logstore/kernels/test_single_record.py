"""Single records found by their offsets: the same as by walking over all of them, and none where anything is odd."""

from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.batch.batches import read_batches
from logstore.batch.decoding.record_decoder import RecordFields, read_fields
from logstore.errors import CorruptRecordError
from logstore.kernels.single_record import MOST_BYTES, NOT_FOUND, find_record_at, find_sound_batch
from tests.logstore.batches import batch, record
from tests.logstore.kernels import twins
from tests.logstore.kernels.guarded import guarded
from tests.logstore.kernels.sizes import EXAMPLES
from tests.logstore.kernels.strategies import LOGS, LYING_RECORDS, RECORDS, ascending_records, damaged

BASE = 7
FAR = 2**62
GAPS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 90), st.integers(0, 1), st.booleans()), max_size=12
)
"""Of each batch: the gap before it, its last offset delta, bytes of records, new epochs, and whether it is indexed."""


def view(data: bytes) -> memoryview:
    return memoryview(guarded(data)).toreadonly()


@settings(max_examples=EXAMPLES)
@given(GAPS, st.data())
def test_the_batch_found_is_that_of_a_walk(gaps: list[tuple[int, int, int, int, bool]], draw: st.DataObject) -> None:
    log, next_offset, epoch = b"", BASE, 0
    offsets, positions = array("i"), array("I")
    for gap, delta, size, later, indexed in gaps:
        base_offset, epoch = next_offset + gap, epoch + later
        next_offset = base_offset + delta + 1
        if indexed and log:
            offsets.append(next_offset - 1 - BASE)
            positions.append(len(log))
        log += batch(
            section=bytes(size), base_offset=base_offset, last_offset_delta=delta, leader_epoch=epoch, record_count=0
        )
    offset = draw.draw(st.integers(BASE, next_offset + 1))
    expected = next((each.position for each in read_batches(log) if each.last_offset >= offset), NOT_FOUND)
    assert find_sound_batch(view(log), offsets, positions, BASE, offset, len(log), next_offset) == expected


TWO = (
    batch(records=[record()], base_offset=BASE, leader_epoch=4),
    batch(records=[record()], base_offset=BASE + 1, leader_epoch=4),
)


@pytest.mark.parametrize("number", [0, 1])
def test_no_bit_of_two_batches_can_be_another_unless_it_tells_in_which_epoch_they_are(number: int) -> None:
    log = b"".join(TWO)
    position = len(TWO[0]) * number
    find = lambda data: find_sound_batch(view(data), array("i"), array("I"), BASE, BASE + number, len(log), BASE + 2)  # noqa: E731
    assert find(log) == position
    for bit in range(8 * (position + len(TWO[number]))):
        flipped = bytearray(log)
        flipped[bit // 8] ^= 1 << bit % 8
        told = [epoch for epoch in (12, 13, 14, 15) if bit // 8 - epoch in {0, len(TWO[0])}]
        assert told or find(bytes(flipped)) == NOT_FOUND, bit


def test_one_that_reaches_into_the_next_or_beyond_the_end_or_is_of_a_later_epoch_is_not_certain() -> None:
    first = batch(records=[record()], base_offset=BASE, last_offset_delta=1, leader_epoch=4)
    for log, end in (
        (first + TWO[1], FAR),
        (first, BASE + 1),
        (TWO[0] + batch(records=[record()], base_offset=BASE + 1, leader_epoch=3), FAR),
        (first + batch(base_offset=BASE + 2)[:16], FAR),
    ):
        assert find_sound_batch(view(log), array("i"), array("I"), BASE, BASE, len(log), end) == NOT_FOUND
    assert find_sound_batch(view(first), array("i"), array("I"), BASE, BASE, len(first), BASE + 2) == 0


def test_where_fewer_bytes_are_at_hand_than_are_in_the_file_the_last_batch_of_them_is_not_certain() -> None:
    log = b"".join(TWO)
    found = [find_sound_batch(view(log), array("i"), array("I"), BASE, BASE + each, 1_000, FAR) for each in (0, 1)]
    assert found == [0, NOT_FOUND]


def test_an_index_that_leads_past_the_batch_or_to_none_that_has_its_offset_is_not_followed() -> None:
    log = b"".join(TWO) + batch(records=[record()], base_offset=BASE + 2)
    for entry, position in ((0, len(TWO[0]) * 2), (1, 0)):
        offsets, positions = array("i", [entry]), array("I", [position])
        assert find_sound_batch(view(log), offsets, positions, BASE, BASE + 1, len(log), FAR) == NOT_FOUND


def test_more_bytes_than_are_looked_at_in_one_go_are_left_to_others() -> None:
    log = batch(records=[record(value=bytes(MOST_BYTES))], base_offset=BASE)
    assert find_sound_batch(view(log), array("i"), array("I"), BASE, BASE, len(log), FAR) == NOT_FOUND


@settings(max_examples=EXAMPLES)
@given(LOGS | damaged(), st.lists(st.integers(0, 300), max_size=5), st.integers(0, 300) | st.integers(0, 2**40))
def test_of_damaged_bytes_none_is_read_beyond_the_end_and_none_of_an_unsound_batch(
    log: bytes, index: list[int], offset: int
) -> None:
    ascending = sorted(index)
    at = find_sound_batch(view(log), array("i", ascending), array("I", ascending), 0, offset, len(log), FAR)
    if at != NOT_FOUND:
        found = next(iter(read_batches(memoryview(log), at)))
        assert found.is_valid()
        assert found.last_offset >= offset


@settings(max_examples=EXAMPLES)
@given(ascending_records() | st.lists(RECORDS | LYING_RECORDS, max_size=5), st.integers(0, 200), st.integers(0, 3))
def test_the_record_found_is_the_one_of_a_walk(records: list[bytes], delta: int, missing: int) -> None:
    section = b"".join(records)
    section = section[: len(section) - missing]
    start, end, timestamp_delta, key, key_size, value, value_size, headers = find_record_at(
        view(section), len(records), delta
    )
    expected = walk(section, len(records), delta)
    if expected is None:
        assert headers == NOT_FOUND
        return
    assert (end, timestamp_delta, headers) == (expected.end, expected.timestamp_delta, len(expected.headers))
    assert read_fields(section, start) == expected
    assert (None if key_size < 0 else section[key : key + key_size]) == expected.key
    assert (None if value_size < 0 else section[value : value + value_size]) == expected.value


def walk(section: bytes, count: int, delta: int) -> RecordFields | None:
    """Read the first record with an offset delta; None without any, or where it or one before cannot be read."""
    position = 0
    for _ in range(count):
        try:
            length, start = twins.read_varint(section, position, len(section), 32)
            end = start + length
            if not 6 <= length <= len(section) - start:
                return None
            _, at = twins.read_varint(section, start + 1, end, 64)
            if twins.read_varint(section, at, end, 32)[0] == delta:
                return read_fields(section, position)
        except (IndexError, CorruptRecordError):
            return None
        position = end
    return None
