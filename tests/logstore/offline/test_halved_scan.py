"""Two threads find what one does, whatever the bytes are in which the second begins."""

import itertools
import threading
from collections.abc import Iterable, Iterator
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.batch.columns import BatchColumns, StopReason
from logstore.kernels import mapped_batches
from logstore.kernels.column_scan import scan
from logstore.kernels.mapped_batches import MappedBatches
from logstore.offline import halved_scan
from logstore.offline.batch_scan import PLAIN_BUDGET
from logstore.offline.halved_scan import scan_in_halves
from logstore.offline.log_file import LogFile
from tests.logstore.batches import batch, log, record
from tests.logstore.golden import LEGACY
from tests.logstore.kernels.guarded import guarded
from tests.logstore.kernels.sizes import EXAMPLES
from tests.logstore.kernels.strategies import damaged
from tests.logstore.kernels.test_scan import rows

Outcome = tuple[list[object], int, StopReason]


@pytest.fixture(autouse=True)
def small_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halved_scan, "SPAN", 1_000)
    monkeypatch.setattr(halved_scan, "WORTH_TWO", 100)
    monkeypatch.setattr(mapped_batches, "SEARCHED", 500)


def outcome(chunks: Iterable[BatchColumns]) -> Outcome:
    """All rows, and how the last chunk ended; the one before is followed by the next."""
    seen: list[object] = []
    columns = None
    for columns in chunks:
        seen += rows(columns)
    assert columns is not None
    return seen, columns.next_position, columns.stop


def halved(data: bytes, position: int = 0, *, check_crc: bool = True) -> Iterator[BatchColumns]:
    return scan_in_halves(MappedBatches(guarded(data), check_crc=check_crc), position)


def by_one_thread(data: bytes, position: int = 0, *, check_crc: bool = True) -> Iterator[BatchColumns]:
    stop = StopReason.MORE
    while stop is StopReason.MORE:
        columns = scan(guarded(data), position, check_crc=check_crc)
        yield columns
        position, stop = columns.next_position, columns.stop


@settings(max_examples=EXAMPLES)
@given(st.lists(damaged(), max_size=6).map(b"".join), st.booleans(), st.data())
def test_two_threads_find_what_one_does(data: bytes, check_crc: bool, draw: st.DataObject) -> None:
    start = draw.draw(st.just(0) | st.integers(0, len(data)))
    found = outcome(halved(data, start, check_crc=check_crc))
    assert found == outcome(by_one_thread(data, start, check_crc=check_crc))


@pytest.mark.parametrize("batches", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("tail", [b"", bytes(30), batch(magic=1), batch(base_offset=-1)])
def test_a_sound_log_is_read_to_its_end(batches: int, tail: bytes) -> None:
    data = log(batches) + tail
    assert outcome(halved(data)) == outcome(by_one_thread(data))


def test_the_second_thread_reads_the_second_half() -> None:
    readers: list[tuple[int, str]] = []

    class Noted(MappedBatches):
        def scan(self, position: int, chunk_bytes: int) -> BatchColumns:
            readers.append((position, threading.current_thread().name))
            return super().scan(position, chunk_bytes)

    data = log(80)
    outcome(scan_in_halves(Noted(guarded(data), check_crc=True), 0))
    positions, names = zip(*sorted(readers), strict=True)
    assert len(positions) == len(set(positions)) > len(data) // halved_scan.SPAN
    assert all(one != other for one, other in itertools.pairwise(names))


def test_batches_within_a_record_are_not_taken_for_batches() -> None:
    inner = log(20)
    data = log(1) + batch(base_offset=3, records=[record(value=inner)]) + log(3)
    with mock.patch.object(mapped_batches, "search_batch", wraps=mapped_batches.search_batch) as search:
        found = outcome(halved(data))
    assert search.called
    assert found == outcome(by_one_thread(data))
    assert len(found[0]) == 5


def test_no_thread_is_at_work_once_the_reader_stops() -> None:
    before = set(threading.enumerate())
    chunks = halved(log(40))
    next(chunks)
    chunks.close()
    assert set(threading.enumerate()) <= before  # those of earlier tests may end meanwhile


def test_one_thread_does_it_all_where_no_other_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    start = mock.Mock(side_effect=RuntimeError("can't start new thread"))
    monkeypatch.setattr(threading.Thread, "start", start)
    data = log(40)
    assert outcome(halved(data)) == outcome(by_one_thread(data))
    assert start.called


@pytest.mark.parametrize(("threads", "cores", "is_halved"), [(1, 8, False), (2, 1, False), (2, 2, True), (9, 8, True)])
def test_a_log_is_read_by_no_more_threads_than_are_allowed_and_there_are_cores(
    threads: int, cores: int, is_halved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PLAIN_BUDGET, "batches_left", 0)
    monkeypatch.setattr(halved_scan, "usable_cores", lambda: cores)
    data = log(40)
    with mock.patch.object(halved_scan, "AwaitedThreads", wraps=halved_scan.AwaitedThreads) as started:
        found = outcome(LogFile(memoryview(data)).scan(threads=threads))
    assert started.called is is_halved
    assert found == outcome(by_one_thread(data))


def test_older_magics_are_read_between_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PLAIN_BUDGET, "batches_left", 0)
    monkeypatch.setattr(halved_scan, "usable_cores", lambda: 2)
    old = (LEGACY / "magic1-none.log").read_bytes()
    file = LogFile(memoryview(log(20) + old + log(20)))
    assert outcome(file.scan(threads=2)) == outcome(file.scan())


def test_a_half_of_many_small_batches_does_not_wait_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halved_scan, "KEPT", 2)
    monkeypatch.setattr(halved_scan, "CHUNK_BYTES", 100)
    data = log(80)
    chunks = list(halved(data))
    assert outcome(chunks) == outcome(by_one_thread(data))
    assert max(map(len, chunks)) < 3
