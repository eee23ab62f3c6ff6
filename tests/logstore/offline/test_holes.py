"""Zeros are told from data without reading what was never written."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.offline.batch_search import BatchSearch
from logstore.offline.holes import end_of_zeros, written_ranges
from logstore.offline.log_file import LogFile
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import verify_partition
from tests.logstore.batches import simple_batch

GIB = 1 << 30


@given(st.lists(st.sampled_from([b"\0" * 10, b"\0" * 4096, b"\1", b"\0\0\2"])), st.integers(0, 10_000))
def test_the_end_of_zeros_is_the_first_other_byte(pieces: list[bytes], start: int) -> None:
    data = b"".join(pieces)
    zero = data[start:]
    expected = len(data) - len(zero.lstrip(b"\0")) if start < len(data) else len(data)
    assert end_of_zeros(np.frombuffer(data, np.uint8), start, Path("no such file")) == expected


@pytest.mark.parametrize("tells_of_holes", [True, False])
def test_holes_are_zeros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, tells_of_holes: bool) -> None:
    if not tells_of_holes:
        monkeypatch.delattr(os, "SEEK_DATA")
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(b"x")
        file.seek(5 << 20)
        file.write(bytes(3 << 20))
        file.seek((20 << 20) + 7)
        file.write(b"x")
        file.truncate(30 << 20)
    data = np.memmap(path, np.uint8, "r")
    assert end_of_zeros(data, 0, path) == 0
    assert end_of_zeros(data, 1, path) == (20 << 20) + 7
    assert end_of_zeros(data, (20 << 20) + 8, path) == 30 << 20


def test_what_is_written_between_holes_is_told(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.seek(5 << 20)
        file.write(b"x" * 4096)
        file.truncate(30 << 20)
    written = list(written_ranges(path, 0, 30 << 20))
    assert sum(stop - start for start, stop in written) < 2 << 20
    assert any(start <= 5 << 20 < stop for start, stop in written)
    assert list(written_ranges(path, 20 << 20, 30 << 20)) == []
    assert list(written_ranges(None, 7, 9)) == [(7, 9)]


def test_a_batch_that_begins_in_a_hole_is_found(tmp_path: Path) -> None:
    path, batch = tmp_path / f"{0:020d}.log", simple_batch(0)
    begin = (1 << 40) - 8
    with path.open("wb") as file:
        file.write(b"junk")
        file.seek(begin + 8)
        file.write(batch[8:])
        file.truncate(2 << 40)
    with LogFile.open(path) as log:
        search = BatchSearch(log)
        assert search.find(1) == begin
        assert search.find(begin + 1) == -1


def sparse_log(directory: Path, end: bytes) -> PartitionDirectory:
    partition = directory / "t-0"
    partition.mkdir()
    with (partition / f"{0:020d}.log").open("wb") as file:
        file.write(simple_batch(0))
        file.truncate(200 * GIB - len(end))
        file.seek(0, os.SEEK_END)
        file.write(end)
    return PartitionDirectory.open(partition)


@pytest.mark.parametrize(
    ("end", "kinds"),
    [
        (b"", [("zero-tail", len(simple_batch(0)))]),
        (b"junk", [("unreadable-bytes", len(simple_batch(0)))]),
        (simple_batch(1), [("unreadable-bytes", len(simple_batch(0)))]),
    ],
)
def test_a_log_of_200_gib_of_zeros_is_checked_soon(end: bytes, kinds: list[tuple[str, int]], tmp_path: Path) -> None:
    partition = sparse_log(tmp_path, end)
    started = time.monotonic()
    found = [(each.kind, each.position) for each in verify_partition(partition) if each.file == f"{0:020d}.log"]
    assert found == kinds
    assert time.monotonic() - started < 20
