"""Headers read from a file: the same as its bytes have, however little a read gives."""

import os
from tempfile import TemporaryFile
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.batch.columns import BatchColumns, StopReason
from logstore.batch.layout import HEADER_SIZE
from logstore.kernels.column_scan import MEMORY
from logstore.kernels.read_headers import NOT_CACHED, read_headers
from tests.logstore.batches import log
from tests.logstore.kernels import twins
from tests.logstore.kernels.sizes import EXAMPLES, JIT
from tests.logstore.kernels.strategies import damaged
from tests.logstore.kernels.test_scan import rows

Outcome = tuple[list[twins.BatchRow], int, StopReason]


def read(data: bytes, start: int = 0, *, end: int, capacity: int = 8_000, chunk_bytes: int = 2**40) -> Outcome:
    """Read the headers of a file that was of `end` bytes once."""
    columns = MEMORY.take()
    with TemporaryFile(buffering=0) as file:
        file.write(data)
        header = np.empty(HEADER_SIZE, np.uint8)
        count, position, stop = read_headers(
            file.fileno(), header, start, end, start + chunk_bytes, capacity, *columns.values()
        )
    filled = {name: column[:count] for name, column in columns.items()}
    made = BatchColumns(**filled, next_position=position, stop=StopReason(stop))
    return rows(made), int(position), made.stop


@settings(max_examples=EXAMPLES)
@given(damaged(), st.integers(1, 5), st.integers(1, 300), st.data())
def test_headers_equal_their_twin(data: bytes, capacity: int, chunk_bytes: int, draw: st.DataObject) -> None:
    start = draw.draw(st.just(0) | st.integers(0, len(data)))
    bounds = {"capacity": capacity, "chunk_bytes": chunk_bytes}
    expected = twins.scan(data, start, check_crc=False, **bounds)
    assert read(data, start, end=len(data), **bounds) == expected


def test_a_file_that_is_shorter_by_now_ends_where_it_does() -> None:
    whole = log(4)
    for left, stop in ((0, StopReason.END), (1, StopReason.TORN), (60, StopReason.TORN)):
        found, position, reason = read(whole[: len(log(2)) + left], end=len(whole))
        assert (len(found), position, reason) == (2, len(log(2)), stop)


def test_a_file_that_is_longer_by_now_ends_where_it_did() -> None:
    found, position, stop = read(log(4), end=len(log(2)))
    assert (len(found), position, stop) == (2, len(log(2)), StopReason.END)


def test_what_cannot_be_read_at_once_is_not_cached() -> None:
    columns = MEMORY.take()
    header = np.empty(HEADER_SIZE, np.uint8)
    assert read_headers(-1, header, 7, 100, 100, 5, *columns.values()) == (0, 7, NOT_CACHED)


@pytest.mark.skipif(JIT, reason="compiled kernels call the C library, which reads all at once here")
def test_a_read_that_gives_less_is_gone_on_with() -> None:
    data, real = log(10), os.preadv
    with mock.patch.object(os, "preadv", lambda file, buffers, *rest: real(file, [buffers[0][:7]], *rest)):
        assert read(data, end=len(data)) == twins.scan(data, 0, check_crc=False, capacity=len(data))
