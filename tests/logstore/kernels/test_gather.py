"""Gathered values are those that Python slices out, whatever their lengths."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.kernels.column_scan import scan
from logstore.kernels.decode import decode
from logstore.kernels.gather import MOST_BYTES, Gathered, gather, gather_headers, measure_headers
from tests.logstore.batches import batch, record

TEXTS = st.text(max_size=5)
VALUES = st.none() | st.binary(max_size=9)
HEADERS = st.lists(st.tuples(TEXTS, VALUES), max_size=4)


@given(data=st.binary(min_size=1, max_size=60), cuts=st.lists(st.tuples(st.integers(0, 59), st.integers(-1, 20))))
def test_pieces_follow_one_another_without_gaps(data: bytes, cuts: list[tuple[int, int]]) -> None:
    cut = [(min(start, len(data)), length) for start, length in cuts]
    cut = [(start, min(length, len(data) - start)) for start, length in cut]
    starts = np.array([start for start, _ in cut], np.int64)
    lengths = np.array([length for _, length in cut], np.int32)

    ends, values = gather(np.frombuffer(data, np.uint8), starts, lengths)

    assert pieces(Gathered(ends, values)) == [data[start : start + max(length, 0)] for start, length in cut]


def pieces(gathered: Gathered) -> list[bytes]:
    return [bytes(gathered.values[first:last]) for first, last in pairwise(gathered.ends)]


def test_values_that_are_too_many_for_a_column_are_refused() -> None:
    data = np.zeros(1, np.uint8)

    with pytest.raises(ValueError, match="2,147,483,648 bytes of values are more than one column takes"):
        gather(data, np.zeros(2, np.int64), np.array([MOST_BYTES, 1], np.int32))


@given(headers=st.lists(HEADERS, min_size=1, max_size=5))
def test_headers_are_found_where_they_are(headers: list[list[tuple[str, bytes | None]]]) -> None:
    sent = [
        record(offset_delta=number, headers=[(key.encode(), value) for key, value in each])
        for number, each in enumerate(headers)
    ]
    data = np.frombuffer(batch(records=sent), np.uint8)
    records = decode(data, scan(data, check_crc=True))

    keys, values, is_there = gather_headers(data, records.headers_start, records.header_count)
    sizes = measure_headers(data, records.headers_start, records.header_count)

    expected = [(key.encode(), value) for each in headers for key, value in each]
    assert records.header_count.tolist() == [len(each) for each in headers]
    assert pieces(keys) == [key for key, _ in expected]
    assert pieces(values) == [value or b"" for _, value in expected]
    assert is_there.tolist() == [value is not None for _, value in expected]
    assert [size.tolist() for size in sizes] == [
        [sum(len(key.encode()) for key, _ in each) for each in headers],
        [sum(len(value or b"") for _, value in each) for each in headers],
    ]
