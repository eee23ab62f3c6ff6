"""A flush waits for the disk, and nobody waits for the flush but who asked for one."""

import errno
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import pytest

from logstore.batch.batches import read_batches
from logstore.batch.record import Record
from logstore.errors import LogClosedError, LogPoisonedError, ReentrantCallError
from logstore.files.only_copy.promised_offsets import PROMISED_OFFSETS_NAME
from logstore.log.log import Log
from logstore.log_config import LogConfig
from tests.held_disk import HeldDisk

THREADS = 16


@pytest.fixture
def disk() -> HeldDisk:
    return HeldDisk()


@pytest.fixture
def log(tmp_path: Path, disk: HeldDisk) -> Iterator[Log]:
    """A log with two records, flushed once: its names are on stable storage."""
    with Log.open(tmp_path / "t-0", LogConfig(file_delete_delay_ms=0), filesystem=disk) as log:
        append(log, 2)
        log.flush()
        yield log
        disk.let_go()


def append(log: Log, count: int = 1) -> None:
    for _ in range(count):
        log.append([Record.of(b"value")])


@contextmanager
def flush_under_way(log: Log, disk: HeldDisk) -> Iterator[Future[int]]:
    """A flush of another thread that waits for the disk; in the end it comes to its end."""
    disk.hold()
    with ThreadPoolExecutor(1) as thread:
        flush = thread.submit(log.flush)
        assert disk.is_reached.wait(60)
        try:
            yield flush
        finally:
            disk.let_go()


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = monotonic() + 60
    while not holds():
        assert monotonic() < deadline
        sleep(0.001)


def test_appends_and_reads_go_on_while_a_flush_waits_for_the_disk(log: Log, disk: HeldDisk) -> None:
    append(log)
    with flush_under_way(log, disk) as flush:
        append(log, 3)
        assert len(list(log.read(0, 1 << 20).records())) == 6
        assert log.update_high_watermark(6) == 6
        assert not flush.done()
        assert log.recovery_point == 2
    assert flush.result() == 3
    assert (log.recovery_point, log.flush()) == (3, 6)


def test_flushes_that_come_while_one_waits_share_the_next(log: Log, disk: HeldDisk) -> None:
    append(log)
    before = disk.fsyncs
    with ThreadPoolExecutor(THREADS) as threads:
        with flush_under_way(log, disk):

            def acknowledge(_: int) -> bool:
                offset = log.append([Record.of(b"value")]).last_offset
                return log.flush() > offset

            acknowledged = [threads.submit(acknowledge, number) for number in range(THREADS)]
            wait_until(lambda: log.log_end_offset == 3 + THREADS)
        assert all(each.result() for each in acknowledged)
    # The one that was held, and one or two for all others: who appended last may have come to flush a moment later.
    assert 2 <= disk.fsyncs - before <= 4
    assert log.recovery_point == 3 + THREADS


# --- by `flush_messages`


@pytest.fixture
def counting(log: Log) -> Log:
    """The log, which is flushed once two more records are in it."""
    log.config = replace(log.config, flush_messages=2)
    return log


def test_an_append_flushes_once_so_many_records_are_not(counting: Log, disk: HeldDisk) -> None:
    before = disk.fsyncs
    append(counting)
    assert (counting.recovery_point, disk.fsyncs) == (2, before)
    append(counting)
    assert (counting.recovery_point, disk.fsyncs) == (4, before + 1)
    data = counting.read(0, 1 << 20).data
    second = next(iter(read_batches(data))).size
    with Log.open(counting.directory.with_name("u-0"), counting.config) as follower:
        follower.append_batches(data[:second])
        assert follower.recovery_point == 0
        follower.append_batches(data[second:])
        assert follower.recovery_point == 4


def test_others_go_on_while_an_append_that_flushes_waits_for_the_disk(counting: Log, disk: HeldDisk) -> None:
    append(counting)
    disk.hold()
    with ThreadPoolExecutor(1) as thread:
        flushing = thread.submit(append, counting)
        assert disk.is_reached.wait(60)
        counting.config = replace(counting.config, flush_messages=1_000)
        append(counting)
        assert len(list(counting.read(0, 1 << 20).records())) == 5
        assert not flushing.done()
        disk.let_go()
        flushing.result(60)
    assert counting.recovery_point == 4


def test_appends_that_come_while_one_flushes_share_the_next_flush(counting: Log, disk: HeldDisk) -> None:
    counting.config = replace(counting.config, flush_messages=1)
    before = disk.fsyncs
    disk.hold()
    with ThreadPoolExecutor(THREADS) as threads:
        appends = [threads.submit(append, counting) for _ in range(THREADS)]
        wait_until(lambda: counting.log_end_offset == 2 + THREADS)
        assert not any(each.done() for each in appends)
        disk.let_go()
        for each in appends:
            each.result(60)
    assert counting.recovery_point == 2 + THREADS
    assert 1 <= disk.fsyncs - before <= 3


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EMFILE])
def test_an_append_whose_flush_fails_poisons_the_log(counting: Log, disk: HeldDisk, number: int) -> None:
    append(counting)
    disk.failure = OSError(number, "not now")
    with pytest.raises(OSError, match="not now"):
        append(counting)
    assert counting.log_end_offset == 4
    assert counting.failure is not None
    with pytest.raises(LogPoisonedError):
        append(counting)
    counting.abandon()


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, MemoryError])
def test_an_append_whose_flush_is_interrupted_is_in_the_log(
    counting: Log, disk: HeldDisk, interruption: type[BaseException]
) -> None:
    append(counting)
    disk.failure = interruption()
    with pytest.raises(interruption):
        append(counting)
    assert (counting.log_end_offset, counting.recovery_point, counting.failure) == (4, 2, None)
    append(counting)
    assert counting.recovery_point == 5


def test_an_append_is_done_where_the_log_is_closed_while_it_is_to_flush(counting: Log, disk: HeldDisk) -> None:
    append(counting)
    disk.hold()
    with ThreadPoolExecutor(2) as threads:
        flushing = threads.submit(append, counting)
        assert disk.is_reached.wait(60)
        late = threads.submit(append, counting)
        wait_until(lambda: counting.log_end_offset == 5)
        disk.meanwhile = None
        disk.let_go()
        counting.close()
        flushing.result(60)
        late.result(60)
    with Log.open(counting.directory) as log:
        assert log.log_end_offset == 5


# --- what fails


def test_a_flush_that_fails_is_reported_to_all_that_wait(log: Log, disk: HeldDisk) -> None:
    append(log)
    with ThreadPoolExecutor(THREADS) as threads:
        with flush_under_way(log, disk) as first:
            others = [threads.submit(log.flush) for _ in range(THREADS)]
            disk.failure = OSError(errno.EIO, "I/O error")
        with pytest.raises(OSError, match="I/O error"):
            first.result()
        assert all(isinstance(other.exception(), LogPoisonedError) for other in others)
    assert log.recovery_point == 2
    log.abandon()


def test_a_flush_that_is_interrupted_has_not_happened(log: Log, disk: HeldDisk) -> None:
    append(log)
    disk.failure = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        log.flush()
    assert log.recovery_point == 2
    append(log)
    assert log.flush() == 4


def test_what_takes_the_place_of_truncated_records_is_synced_too(log: Log, disk: HeldDisk) -> None:
    append(log, 4)
    with flush_under_way(log, disk) as flush:
        log.truncate_to(1)
        append(log, 8)
        before = disk.fsyncs
    assert flush.result() == log.log_end_offset == 9
    assert disk.fsyncs > before + 1


def test_records_that_are_truncated_meanwhile_do_not_count_as_synced(log: Log, disk: HeldDisk) -> None:
    append(log, 4)
    with flush_under_way(log, disk) as flush:
        log.truncate_to(1)
    assert flush.result() == log.recovery_point == log.log_end_offset == 1


def test_a_flush_is_not_done_where_another_sync_was_told_of_the_failure(log: Log, disk: HeldDisk) -> None:
    """The system tells one of those who wait for the same pages."""
    append(log)
    before = log.recovery_point
    disk.meanwhile = lambda: log._guard.poison(OSError(errno.EIO, "Input/output error"))
    with pytest.raises(LogPoisonedError, match="Input/output error"):
        log.flush()
    assert log.recovery_point == before
    log.abandon()


@pytest.mark.parametrize("call", [Log.close, lambda log: log.delete_records(log.log_end_offset)])
def test_a_sync_that_finds_no_space_is_not_made_again_in_that_which_is_kept(
    log: Log, disk: HeldDisk, call: Callable[[Log], object]
) -> None:
    """What was to be written may be gone by then, and the next sync is not told of that."""
    append(log)
    before = log.recovery_point
    log.update_high_watermark(log.log_end_offset)

    def fail() -> None:
        disk.failure = OSError(errno.ENOSPC, "No space left on device")

    disk.meanwhile = fail
    with pytest.raises(OSError, match="No space left on device"):
        call(log)
    assert log.failure is not None
    assert (log.is_complete, log.recovery_point) == (False, before)
    with pytest.raises(LogPoisonedError):
        log.flush()
    log.abandon()


def test_what_is_promised_is_not_written_once_the_log_is_let_go_of(log: Log, disk: HeldDisk) -> None:
    """Another one may have the directory by then."""
    append(log)
    promised = log.directory / PROMISED_OFFSETS_NAME
    with flush_under_way(log, disk) as flush:
        log.abandon()
        before = promised.read_bytes()
        disk.let_go()
        flush.result()
    assert promised.read_bytes() == before


@pytest.mark.parametrize("end", [Log.close, Log.abandon])
def test_a_log_that_is_closed_meanwhile_keeps_the_descriptor_for_the_flush(
    log: Log, disk: HeldDisk, end: Callable[[Log], None]
) -> None:
    append(log)
    with flush_under_way(log, disk) as flush, ThreadPoolExecutor(1) as thread:
        ended = thread.submit(end, log)
        if end is Log.abandon:
            ended.result()  # which waits for no disk
        disk.let_go()
        ended.result()
        assert flush.result() == 3


def test_a_log_that_was_abandoned_stays_closed_where_its_flush_then_fails(log: Log, disk: HeldDisk) -> None:
    append(log)
    with flush_under_way(log, disk) as flush:
        log.abandon()
        disk.failure = OSError(errno.EIO, "I/O error")
    with pytest.raises(OSError, match="I/O error"):
        flush.result()
    for call in (log.flush, lambda: append(log), lambda: log.read(0, 1)):
        with pytest.raises(LogClosedError):
            call()


def test_a_new_segment_begins_while_a_flush_waits(log: Log, disk: HeldDisk) -> None:
    append(log)
    with flush_under_way(log, disk) as flush, ThreadPoolExecutor(1) as thread:
        append(log)
        rolled = thread.submit(log.roll)
        disk.let_go()
        rolled.result()
        append(log)
    assert flush.result() in {3, 4}
    assert log.flush() == 5


def test_a_flush_syncs_the_records_alone_once_the_segment_has_its_name(log: Log, disk: HeldDisk) -> None:
    for _ in range(3):
        append(log)
        before = disk.fsyncs, disk.directory_fsyncs
        log.flush()
        assert (disk.fsyncs - before[0], disk.directory_fsyncs - before[1]) == (1, 0)
    log.roll()
    append(log)
    before = disk.fsyncs, disk.directory_fsyncs
    log.flush()
    assert disk.fsyncs - before[0] > 1
    assert disk.directory_fsyncs > before[1]


def test_a_log_that_is_flushed_empty_writes_its_checkpoints_once_more_with_its_first_records(
    tmp_path: Path, disk: HeldDisk
) -> None:
    with Log.open(tmp_path / "t-1", filesystem=disk) as log:
        log.flush()
        costs = []
        for count in (0, 0, 1, 1, 1):
            append(log, count)
            before = disk.fsyncs, disk.directory_fsyncs
            log.flush()
            costs.append((disk.fsyncs - before[0], disk.directory_fsyncs - before[1]))
    # With the first records: the recovery point and the high watermark.
    assert costs == [(1, 0), (1, 0), (3, 2), (1, 0), (1, 0)]


def test_a_signal_handler_may_flush_while_a_flush_waits(log: Log, disk: HeldDisk) -> None:
    """The handler runs in the thread that waits, and has its turn already."""
    ends: list[int] = []

    def handle() -> None:
        append(log)
        ends.append(log.flush())

    append(log)
    disk.meanwhile = handle
    assert log.flush() == 4
    assert ends == [4]


def test_a_flush_in_a_call_that_changes_the_log_is_refused(log: Log) -> None:
    with log._guard.lock, pytest.raises(ReentrantCallError):
        log.flush()
