"""Headers as columns: the same as read one by one in plain Python, on right, wrong and damaged logs."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.batch.columns import BatchColumns, StopReason
from logstore.kernels.column_scan import CAPACITY, scan
from logstore.kernels.scan import CRC_WORK, find_next_batch
from tests.logstore.batches import batch, log, simple_batch
from tests.logstore.kernels import twins
from tests.logstore.kernels.guarded import guarded
from tests.logstore.kernels.sizes import EXAMPLES
from tests.logstore.kernels.strategies import damaged


def rows(columns: BatchColumns) -> list[twins.BatchRow]:
    of = [getattr(columns, field.name).tolist() for field in dataclasses.fields(columns)[:15]]
    return [twins.BatchRow(*row) for row in zip(*of, strict=True)]


@settings(max_examples=EXAMPLES)
@given(damaged(), st.booleans(), st.integers(1, 5), st.integers(1, 300), st.data())
def test_scan_equals_its_twin(
    data: bytes, check_crc: bool, capacity: int, chunk_bytes: int, draw: st.DataObject
) -> None:
    start = draw.draw(st.just(0) | st.integers(0, len(data)))
    columns = scan(guarded(data), start, check_crc=check_crc, capacity=capacity, chunk_bytes=chunk_bytes)
    expected = twins.scan(data, start, check_crc=check_crc, capacity=capacity, chunk_bytes=chunk_bytes)
    assert (rows(columns), columns.next_position, columns.stop) == expected


def test_every_batch_of_a_sound_log_is_there() -> None:
    data = log(batches=10, records_each=3)
    columns = scan(np.frombuffer(data, np.uint8), check_crc=True)
    assert columns.base_offset.tolist() == list(range(0, 30, 3))
    assert columns.last_offset.tolist() == list(range(2, 32, 3))
    assert columns.crc_valid.all()
    assert (columns.next_position, columns.stop) == (len(data), StopReason.END)


@pytest.mark.parametrize(
    ("follows", "stop"),
    [
        (b"", StopReason.END),
        (b"\0" * 16, StopReason.TORN),
        (simple_batch()[:-1], StopReason.TORN),
        (simple_batch()[:60], StopReason.TORN),
        (bytes(4096), StopReason.BAD_LENGTH),
        (batch(length=48), StopReason.BAD_LENGTH),
        (batch(length=-1), StopReason.BAD_LENGTH),
        (batch(length=-(2**31)), StopReason.BAD_LENGTH),
        (batch(length=2**31 - 1), StopReason.TORN),
        (batch(magic=3), StopReason.BAD_MAGIC),
        (batch(magic=-1), StopReason.BAD_MAGIC),
        (batch(magic=1), StopReason.LEGACY),
        (batch(magic=0), StopReason.LEGACY),
        (batch(base_offset=-1), StopReason.BAD_HEADER),
        (batch(last_offset_delta=-1), StopReason.BAD_HEADER),
        (batch(record_count=-1), StopReason.BAD_HEADER),
        (batch(base_offset=2**63 - 1, last_offset_delta=1), StopReason.BAD_HEADER),
        (batch(base_offset=2**63 - 1), StopReason.END),
        (batch(record_count=2**31 - 1), StopReason.END),
    ],
)
def test_the_scan_stops_with_a_reason(follows: bytes, stop: StopReason) -> None:
    before = simple_batch()
    columns = scan(guarded(before + follows), check_crc=True)
    assert columns.stop is stop
    assert columns.next_position == len(before) + (len(follows) if stop is StopReason.END else 0)


def test_a_checksum_that_fails_is_a_row_like_any_other() -> None:
    data = bytearray(log(batches=3))
    data[len(data) // 2] ^= 1
    assert scan(np.frombuffer(data, np.uint8), check_crc=True).crc_valid.tolist() == [True, False, True]
    assert scan(np.frombuffer(data, np.uint8), check_crc=False).crc_valid.all()


def test_chunks_add_up_to_the_whole() -> None:
    data = np.frombuffer(log(batches=10), np.uint8)
    chunks = [scan(data, check_crc=True, capacity=4)]
    while chunks[-1].stop is StopReason.MORE:
        chunks.append(scan(data, chunks[-1].next_position, check_crc=True, capacity=4))
    assert [len(chunk) for chunk in chunks] == [4, 4, 2]
    assert chunks[-1].stop is StopReason.END


def test_a_chunk_may_have_more_rows_than_usual() -> None:
    data = np.frombuffer(log(batches=CAPACITY + 10, records_each=1), np.uint8)
    assert len(scan(data, check_crc=False)) == CAPACITY
    columns = scan(data, check_crc=False, capacity=CAPACITY + 5)
    assert columns.base_offset.tolist() == list(range(CAPACITY + 5))
    assert columns.stop is StopReason.MORE


def test_a_chunk_ends_where_it_has_bytes_enough() -> None:
    one = simple_batch()
    data = np.frombuffer(one * 3, np.uint8)
    for chunk_bytes, batches in ((1, 1), (len(one), 1), (len(one) + 1, 2), (3 * len(one), 3)):
        columns = scan(data, check_crc=True, chunk_bytes=chunk_bytes)
        assert (len(columns), columns.next_position) == (batches, batches * len(one))
        assert columns.stop is (StopReason.END if batches == 3 else StopReason.MORE)


@pytest.mark.parametrize("position", [-1, 11])
def test_a_position_outside_the_data_is_refused(position: int) -> None:
    with pytest.raises(ValueError, match=f"Position {position} is not within the 10 bytes"):
        scan(np.zeros(10, np.uint8), position, check_crc=True)
    with pytest.raises(ValueError, match="not within the 10 bytes"):
        find_next_batch(np.zeros(10, np.uint8), 0, position, 0)


@settings(max_examples=EXAMPLES)
@given(damaged(), st.integers(-1, 2**40) | st.just(0), st.data())
def test_find_next_batch_equals_its_twin(data: bytes, minimum_offset: int, draw: st.DataObject) -> None:
    end = draw.draw(st.just(len(data)) | st.integers(0, len(data)))
    start = draw.draw(st.just(0) | st.integers(0, end))
    found = find_next_batch(guarded(data[:end]), start, end, minimum_offset)
    assert found == twins.find_next_batch(data, start, end, minimum_offset)


def test_the_batch_behind_damage_is_found() -> None:
    damage, after = b"\2" * 100, simple_batch(base_offset=50)
    data = np.frombuffer(simple_batch() + damage + after, np.uint8)
    found = len(data) - len(after)
    assert find_next_batch(data, 1, len(data), 0) == found
    assert find_next_batch(data, 1, len(data), 50) == found
    assert find_next_batch(data, 1, len(data), 51) == -1
    assert find_next_batch(data, 1, len(data) - 1, 0) == -1
    assert find_next_batch(data, found + 1, len(data), 0) == -1


def test_false_headers_do_not_make_the_search_quadratic() -> None:
    # Each of these headers claims all that follows, which a search without a bound would checksum each time.
    count = 200
    false = b"".join(batch(length=49 + 61 * (count - 1 - i), crc=1) for i in range(count))
    assert sum(range(61, len(false) + 1, 61)) > CRC_WORK * len(false)
    data = false + simple_batch()
    assert twins.find_next_batch(data, 0, len(data), 0) == len(false)
    assert find_next_batch(guarded(data), 0, len(data), 0) == -1
    assert find_next_batch(guarded(data), len(false) - 5 * 61, len(data), 0) == len(false)
