"""A roll waits for no disk: the log goes on in the next segment while the one before is synced in a thread."""

import errno
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from logstore.batch.record import Record
from logstore.errors import LogPoisonedError
from logstore.log import late_sync, segment_roller
from logstore.log.log import Log
from logstore.log_config import LogConfig
from tests.held_disk import HeldDisk
from tests.logstore.late_syncs import late_syncs
from tests.logstore.log.test_flush import wait_until

NEXT = "00000000000000000002"
"""The segment that begins behind two records."""


@pytest.fixture(autouse=True)
def of_any_size() -> Iterator[None]:
    with late_syncs(have_threads=True):
        yield


@pytest.fixture
def disk() -> HeldDisk:
    return HeldDisk()


@pytest.fixture
def log(tmp_path: Path, disk: HeldDisk) -> Iterator[Log]:
    """A log with two records that are not flushed; the disk answers in the end."""
    config = LogConfig(file_delete_delay_ms=0, cleanup_policy={"compact", "delete"})
    with Log.open(tmp_path / "t-0", config, filesystem=disk) as log:
        append(log, 2)
        try:
            yield log
        finally:
            disk.let_go()


def append(log: Log, count: int = 1) -> None:
    for _ in range(count):
        log.append([Record.of(b"value", b"key")])


def roll(log: Log, disk: HeldDisk) -> None:
    """Begin a segment while the disk takes its time with the one before."""
    disk.hold()
    log.roll()
    assert disk.is_reached.wait(60)
    append(log)


def names(log: Log) -> set[str]:
    return {path.name for path in log.directory.iterdir() if path.name.startswith(NEXT)}


@contextmanager
def waits(call: Callable[[], object], disk: HeldDisk) -> Iterator[Future[object]]:
    """A call that is not done before the disk goes on."""
    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(call)
        try:
            yield future
            assert not future.done()
        finally:
            disk.let_go()


def ended(log: Log) -> bool:
    return f"{NEXT}.log" in names(log)


# --- while the disk takes its time


def test_appends_and_reads_go_on(log: Log, disk: HeldDisk) -> None:
    roll(log, disk)
    append(log, 3)
    assert len(list(log.records())) == 6
    assert (log.recovery_point, len(log.segments)) == (0, 2)
    disk.let_go()
    wait_until(lambda: log.recovery_point == 2)


def test_the_next_segment_has_no_name_before_the_one_before_is_synced(log: Log, disk: HeldDisk) -> None:
    roll(log, disk)
    assert f"{NEXT}.log.begun" in names(log)
    assert not ended(log)
    with Log.reader(log.directory) as reader:
        assert reader.log_end_offset == 2
        disk.let_go()
        wait_until(lambda: ended(log))
        assert reader.log_end_offset == 3


def test_a_flush_waits_for_both_segments(log: Log, disk: HeldDisk) -> None:
    roll(log, disk)
    with waits(log.flush, disk) as flush:
        append(log)
    assert flush.result() == 4
    assert ended(log)


@pytest.mark.parametrize(
    "change",
    [
        lambda log: log.roll(),
        lambda log: log.truncate_to(1),
        lambda log: log.delete_old_segments(),
        lambda log: log.trim(before=1),
        lambda log: log.compact(),
        lambda log: log.backup(log.directory.with_name("backups") / log.directory.name),
        lambda log: log.close(),
    ],
    ids=["roll", "truncate", "delete", "trim", "compact", "backup", "close"],
)
def test_all_that_changes_more_than_the_end_waits(log: Log, disk: HeldDisk, change: Callable[[Log], object]) -> None:
    log.update_high_watermark(2)
    log.directory.with_name("backups").mkdir()
    roll(log, disk)
    log.update_high_watermark(2)
    with waits(lambda: change(log), disk):
        assert f"{NEXT}.log.begun" in names(log)
    assert f"{NEXT}.log.begun" not in names(log)


def test_a_log_that_is_abandoned_leaves_its_directory_alone(log: Log, disk: HeldDisk) -> None:
    roll(log, disk)
    log.abandon()
    with Log.open(log.directory, log.config) as successor:
        assert (successor.log_end_offset, successor.report.dropped) == (3, [])
        before = sorted(log.directory.iterdir())
        disk.let_go()
        wait_until(lambda: disk.fsyncs > 0)
        assert sorted(log.directory.iterdir()) == before


# --- without a thread


def test_a_small_segment_is_synced_at_once(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_roller, "SYNCED_AT_ONCE", log.segments[-1].size + 1)
    log.roll()
    assert (log.recovery_point, ended(log)) == (2, True)


def test_where_the_system_allows_no_more_threads_it_is_synced_at_once(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(late_sync, "start_new_thread", refuse)
    log.roll()
    assert (log.recovery_point, ended(log)) == (2, True)


def test_a_segment_that_was_cut_is_synced_at_once(log: Log) -> None:
    """A loss of power may bring back what was cut: what follows shows only by the sync that it was written later."""
    log.truncate_to(1)
    append(log)
    log.roll()
    assert (log.recovery_point, ended(log)) == (2, True)


def test_so_is_one_that_a_crash_may_have_cut(log: Log) -> None:
    log.abandon()
    with Log.open(log.directory, log.config) as recovered:
        recovered.roll()
        assert (recovered.recovery_point, ended(recovered)) == (2, True)
    with Log.open(log.directory, log.config) as closed_in_order:
        append(closed_in_order)
        closed_in_order.roll()
        wait_until(lambda: closed_in_order.recovery_point == 3)


# --- failures


def test_a_sync_that_fails_poisons_the_log_and_is_not_made_again(log: Log, disk: HeldDisk) -> None:
    roll(log, disk)
    disk.failure = OSError(errno.EIO, "I/O error")
    with waits(log.flush, disk) as flush:
        pass
    with pytest.raises((OSError, LogPoisonedError), match="I/O error"):
        flush.result()
    wait_until(lambda: log.failure is not None)
    failed = disk.fsyncs
    with pytest.raises(LogPoisonedError, match="I/O error"):
        log.flush()
    with pytest.raises(LogPoisonedError, match="I/O error"):
        append(log)
    assert (log.recovery_point, disk.fsyncs, ended(log)) == (0, failed, False)
    log.abandon()


def test_the_next_append_is_told_of_a_sync_that_failed(log: Log, disk: HeldDisk) -> None:
    roll(log, disk)
    disk.failure = OSError(errno.ENOSPC, "no space")
    disk.let_go()
    wait_until(lambda: log.failure is not None)
    with pytest.raises(LogPoisonedError):
        append(log)
    log.abandon()


def test_a_sync_that_meets_a_limit_is_made_by_the_next_call(log: Log, disk: HeldDisk) -> None:
    roll(log, disk)
    disk.failure = OSError(errno.EMFILE, "too many")
    disk.let_go()
    wait_until(lambda: disk.failure is None)
    assert log.flush() == 3
    assert ended(log)


# --- after a crash


def left_by_a_crash(log: Log, disk: HeldDisk) -> Path:
    """The directory of a log whose process died before the segment was synced."""
    roll(log, disk)
    log.abandon()
    disk.let_go()
    return log.directory


def cut(directory: Path) -> None:
    """Let the first segment lose its last block."""
    path = directory / f"{0:020}.log"
    path.write_bytes(path.read_bytes()[:-10])


def test_the_log_goes_on_in_a_segment_that_has_no_name_yet(log: Log, disk: HeldDisk) -> None:
    directory = left_by_a_crash(log, disk)
    with Log.open(directory, log.config) as recovered:
        assert [record.value for record in recovered.records()] == [b"value"] * 3
        assert recovered.report.renamed_files == [f"{NEXT}.log.begun"]
        assert ended(recovered)


@pytest.mark.parametrize("replicated", [False, True])
def test_it_goes_where_what_it_follows_is_lost(log: Log, disk: HeldDisk, *, replicated: bool) -> None:
    directory = left_by_a_crash(log, disk)
    cut(directory)
    with Log.open(directory, replace(log.config), replicated=replicated) as recovered:
        assert recovered.log_end_offset == 1
        lost = recovered.report.dropped[-1]
        assert (lost.file, lost.records, bool(lost.set_aside)) == (f"{NEXT}.log.begun", 1, not replicated)
        assert names(recovered) <= {lost.set_aside}


def test_a_torn_batch_at_its_end_goes_alone(log: Log, disk: HeldDisk) -> None:
    directory = left_by_a_crash(log, disk)
    with (directory / f"{NEXT}.log.begun").open("ab") as file:
        file.write(b"torn")
    with Log.open(directory, log.config) as recovered:
        assert (recovered.log_end_offset, len(recovered.segments)) == (3, 2)


def test_it_is_not_taken_for_a_part_of_a_log_that_was_closed_in_order(log: Log) -> None:
    log.close()
    (log.directory / f"{NEXT}.log.begun").write_bytes(b"")
    with Log.open(log.directory, log.config) as opened:
        assert (len(opened.segments), names(opened) - {f"{NEXT}.snapshot"}) == (1, set())
