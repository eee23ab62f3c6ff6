"""Records are passed over by their lengths, without a look at what is in them."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.batch.decoding.record_decoder import pass_over
from logstore.errors import CorruptRecordError
from tests.logstore.batches import record

SIZES = st.integers(0, 200) | st.integers(8_000, 9_000) | st.just(1_100_000)
"""By lengths of one byte to four."""


@given(st.lists(SIZES, min_size=1, max_size=5))
def test_each_record_ends_where_the_next_begins(sizes: list[int]) -> None:
    records = [record(offset_delta=number, value=bytes(size)) for number, size in enumerate(sizes)]
    ends = [0, *accumulate(map(len, records))]
    data = b"".join(records)
    assert [pass_over(data, count) for count in range(len(ends))] == ends


@pytest.mark.parametrize("length", [b"\x01", b"\x81\x01", b"\x81\x80\x01"])
def test_a_negative_length_is_no_record(length: bytes) -> None:
    with pytest.raises(CorruptRecordError):
        pass_over(length + bytes(200), 1)


def test_beyond_the_data_there_is_no_record() -> None:
    with pytest.raises(IndexError):
        pass_over(record(value=b"one"), 2)
