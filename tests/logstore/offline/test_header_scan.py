"""Headers of a file that is cached, and not mapped: those of a mapping, and no end of the process where it is cut."""

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any
from unittest import mock

import pytest

from logstore.batch.columns import BatchColumns, StopReason
from logstore.kernels.read_headers import NOT_CACHED, read_headers
from logstore.offline import halved_scan, header_scan, unmapped_headers
from logstore.offline.batch_scan import PLAIN_BUDGET
from logstore.offline.header_scan import scan_headers
from logstore.offline.log_file import LogFile
from tests.logstore.batches import batch, log, simple_batch
from tests.logstore.golden import LEGACY
from tests.logstore.kernels import twins
from tests.logstore.kernels.test_scan import rows
from tests.logstore.offline.test_halved_scan import outcome

VALUE_SIZE = 3_000


@pytest.fixture(autouse=True)
def small_logs_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PLAIN_BUDGET, "batches_left", 0)
    monkeypatch.setattr(header_scan, "SMALL", 1_000)
    monkeypatch.setattr(halved_scan, "WORTH_TWO", 1_000)
    monkeypatch.setattr(halved_scan, "usable_cores", lambda: 2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"{0:020}.log"


def of_mapping(path: Path, position: int = 0) -> Iterator[BatchColumns]:
    with LogFile.open(path) as file:
        yield from file.scan(position, check_crc=False)


@pytest.fixture
def no_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mmap, "mmap", mock.Mock(side_effect=AssertionError("nothing is to be mapped")))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("tail", [b"", bytes(30), bytes(100), batch(base_offset=-1), simple_batch()[:-1]])
@pytest.mark.usefixtures("no_mapping")
def test_large_batches_are_read_without_mapping_the_file(path: Path, tail: bytes, threads: int) -> None:
    data = log(50, value_size=VALUE_SIZE) + tail
    path.write_bytes(data)
    found = outcome(scan_headers(path, threads=threads))
    expected = twins.scan(data, 0, check_crc=False, capacity=len(data))
    assert found == expected


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        log(1),
        log(40),
        log(40) + log(20, value_size=VALUE_SIZE),
        log(100, value_size=VALUE_SIZE) + log(200),
        log(100, value_size=VALUE_SIZE) + log(9_000, 1) + log(10, value_size=VALUE_SIZE),
        (LEGACY / "magic1-none.log").read_bytes(),
        log(70, value_size=VALUE_SIZE) + (LEGACY / "magic1-none.log").read_bytes() + log(3),
        (LEGACY / "magic1-none.log").read_bytes() + log(70, value_size=VALUE_SIZE),
    ],
    ids=lambda data: f"{len(data)} bytes",
)
def test_all_logs_are_read_as_of_a_mapping(path: Path, data: bytes, threads: int) -> None:
    path.write_bytes(data)
    assert outcome(scan_headers(path, threads=threads)) == outcome(of_mapping(path))
    second = len(log(1))
    if len(data) > second and data.startswith(log(2)):
        assert outcome(scan_headers(path, second, threads=threads)) == outcome(of_mapping(path, second))


def test_small_batches_are_read_by_a_mapping(path: Path) -> None:
    path.write_bytes(log(2_000))
    with mock.patch.object(unmapped_headers, "read_headers", wraps=read_headers) as reading:
        assert sum(map(len, scan_headers(path))) == 2_000
    assert reading.call_count == 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("left", [0, 1, 16, 17, 60, 61, 100])
@pytest.mark.usefixtures("no_mapping")
def test_a_file_that_is_cut_meanwhile_ends_there(path: Path, left: int, threads: int) -> None:
    one = log(1, value_size=VALUE_SIZE)
    path.write_bytes(log(300, value_size=VALUE_SIZE))
    chunks = scan_headers(path, threads=threads)
    first = next(chunks)
    assert len(first) == header_scan.PROBED
    # The next header is read after this, and there is nothing of the second half by then.
    end = len(one) * (header_scan.PROBED + 1) + left
    os.truncate(path, end)
    found, position, stop = outcome(chunks)
    assert (len(found), position) == (1, len(one) * (header_scan.PROBED + 1))
    assert stop is (StopReason.TORN if left else StopReason.END)


@pytest.mark.usefixtures("no_mapping")
def test_a_file_may_be_cut_and_grow_at_any_time(path: Path) -> None:
    data = log(400, value_size=VALUE_SIZE)
    path.write_bytes(data)
    whole = [row for columns in scan_headers(path) for row in rows(columns)]
    is_over = Event()

    def cut_and_grow() -> None:
        while not is_over.is_set():
            os.truncate(path, len(data) // 3)
            with open(path, "r+b") as file:
                file.seek(len(data) // 3)
                file.write(data[len(data) // 3 :])

    writer = Thread(target=cut_and_grow)
    writer.start()
    try:
        for _ in range(200):
            found, _, stop = outcome(scan_headers(path, threads=2))
            assert found == whole[: len(found)]
            assert len(found) >= len(whole) // 3
            assert stop in {StopReason.END, StopReason.TORN}
    finally:
        is_over.set()
        writer.join()


def test_a_file_that_was_cut_before_it_is_mapped_after_all_ends_there(path: Path) -> None:
    path.write_bytes(log(100))
    chunks = scan_headers(path)
    first = next(chunks)
    os.truncate(path, 10)
    found, position, stop = outcome(chunks)
    assert (len(first), found, position, stop) == (header_scan.PROBED, [], 10, StopReason.END)


def test_a_file_that_loses_its_name_is_read_to_its_end(path: Path) -> None:
    data = log(100)
    path.write_bytes(data)
    chunks = scan_headers(path)
    next(chunks)
    path.unlink()
    assert outcome(chunks)[1:] == (len(data), StopReason.END)


def test_what_cannot_be_read_is_an_os_error(path: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=path.name):
        next(scan_headers(path))
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        next(scan_headers(tmp_path))


@pytest.mark.parametrize("position", [-1, 11])
def test_a_position_outside_the_file_is_refused(path: Path, position: int) -> None:
    path.write_bytes(bytes(10))
    with pytest.raises(ValueError, match=f"Position {position} is not within the 10 bytes"):
        next(scan_headers(path, position))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("cached", [0, 1, 30, header_scan.PROBED, 100, 250])
def test_what_is_not_cached_is_read_by_a_mapping(path: Path, cached: int, threads: int) -> None:
    data = log(300, value_size=VALUE_SIZE)
    path.write_bytes(data)
    end = len(data) // 300 * cached

    def read(*arguments: Any) -> tuple[int, int, int]:
        descriptor, header, start, size, *others = arguments
        if start >= end:
            return 0, start, NOT_CACHED
        count, position, stop = read_headers(descriptor, header, start, min(size, end), *others)
        return count, position, NOT_CACHED if position >= end else stop

    with mock.patch.object(unmapped_headers, "read_headers", read):
        found = outcome(scan_headers(path, threads=threads))
    assert found == twins.scan(data, 0, check_crc=False, capacity=len(data))
