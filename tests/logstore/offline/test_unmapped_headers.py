"""Headers as a source of batches: as long as the file was, and as far as it is cached."""

import os
from pathlib import Path

import pytest

from logstore.batch.columns import StopReason
from logstore.kernels.column_scan import CHUNK_BYTES
from logstore.offline.unmapped_headers import UnmappedHeaders
from tests.logstore.batches import log

VALUE_SIZE = 3_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"{0:020}.log"


def test_a_file_is_as_long_as_it_was_when_it_was_opened(path: Path) -> None:
    path.write_bytes(log(2))
    with open(path, "rb") as file:
        headers = UnmappedHeaders(file.fileno())
        path.write_bytes(log(3))
        assert headers.size == len(log(2))
        assert len(headers.scan(0, CHUNK_BYTES)) == 2
        assert headers.scan(0, CHUNK_BYTES).stop is StopReason.END
        assert len(headers.scan(0, CHUNK_BYTES, rows=1)) == 1


@pytest.mark.parametrize("left", [0, 1, 61, 100])
def test_batches_of_which_a_part_was_cut_off_are_left_out(path: Path, left: int) -> None:
    path.write_bytes(log(5))
    with open(path, "rb") as file:
        headers = UnmappedHeaders(file.fileno())
        os.truncate(path, len(log(3)) + left)
        columns = headers.scan(0, CHUNK_BYTES)
        assert (len(columns), columns.next_position) == (3, len(log(3)))
        assert columns.stop is (StopReason.TORN if left else StopReason.END)
        after = headers.scan(len(log(5)), CHUNK_BYTES)
        assert (len(after), after.next_position, after.stop) == (0, len(log(5)), StopReason.TORN)


def test_what_the_file_system_does_not_keep_is_not_cached(path: Path) -> None:
    path.write_bytes(bytes(100))
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        headers = UnmappedHeaders(directory)
        with pytest.raises(BlockingIOError, match="the header at 0 is not in the page cache"):
            headers.scan(0, CHUNK_BYTES)
        assert headers.batch_near(0, 100) == -1
    finally:
        os.close(directory)


def test_a_half_is_looked_for_in_what_is_cached(path: Path) -> None:
    data = log(20, value_size=VALUE_SIZE)
    path.write_bytes(data)
    one = len(data) // 20
    with open(path, "rb") as file:
        headers = UnmappedHeaders(file.fileno())
        assert headers.batch_near(one - 1, len(data)) == one
        assert headers.batch_near(one + 1, len(data)) == 2 * one
        assert headers.batch_near(one + 1, 3 * one - 1) == -1
        assert headers.batch_near(19 * one + 1, len(data)) == -1
