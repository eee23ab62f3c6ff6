"""A segment that is closed is flushed by a thread of its own: whoever rolls it does not wait for the disk.

What a crash may leave of it then is among the states of `test_log_crash_states.py`, too.
"""

import errno
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep

import pytest

from epoch.filesystem import FileSystem
from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.errors import DamagedLogError, LogPoisonedError
from logstore.file_name import FileKind, file_name
from logstore.files.only_copy.promised_offsets import PROMISED_OFFSETS_NAME
from logstore.log.flusher import MOST_UNFLUSHED
from logstore.log.log import Log
from logstore.log_config import LogConfig
from tests.disk import NamingDisk, Unthreaded
from tests.held_disk import HeldDisk

CONFIG = LogConfig(file_delete_delay_ms=0)


def append(log: Log, *values: bytes, key: bytes | None = None) -> None:
    for value in values or (b"value",):
        log.append([Record(0, 0, key, value)])


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = monotonic() + 60
    while not holds():
        assert monotonic() < deadline
        sleep(0.001)


def wait_for_turn(log: Log) -> None:
    """Return once no flush waits for the disk any more."""
    with log._flusher._turn:
        pass


@pytest.fixture
def disk() -> Iterator[HeldDisk]:
    disk = HeldDisk()
    yield disk
    disk.let_go()


@pytest.fixture
def log(tmp_path: Path, disk: HeldDisk) -> Iterator[Log]:
    """A log with two flushed records and one that is not."""
    with Log.open(tmp_path / "t-0", CONFIG, filesystem=disk) as log:
        append(log, b"a", b"b")
        log.flush()
        append(log, b"c")
        yield log
        disk.let_go()


class Late(FileSystem):
    """Threads for the disk never come to their turn."""

    def beside(self, call: Callable[[], object]) -> bool:
        del call
        return True


def slow_log(directory: Path, *, replicated: bool = False) -> Log:
    """A log with a record, which nobody flushes."""
    log = Log.open(directory, CONFIG, filesystem=Late(), replicated=replicated)
    append(log)
    return log


# --- nobody waits


def test_a_roll_and_what_is_appended_behind_it_do_not_wait_for_the_disk(log: Log, disk: HeldDisk) -> None:
    disk.hold()
    log.roll()
    append(log, b"d")
    assert disk.is_reached.wait(60)
    assert (log.log_end_offset, log.recovery_point, log.high_watermark) == (4, 2, 2)
    disk.let_go()
    wait_until(lambda: log.recovery_point == 3)
    assert (log.high_watermark, log.flush()) == (3, 4)


def test_a_flush_waits_for_closed_segments_as_well(log: Log, disk: HeldDisk) -> None:
    before = disk.fsyncs
    log.roll()
    append(log, b"d")
    assert log.flush() == 4
    assert disk.fsyncs - before >= 4  # two segments, and indexes
    assert log.recovery_point == 4


def test_an_append_that_is_waited_for_is_not_done_before_the_segment_that_was_closed(log: Log, disk: HeldDisk) -> None:
    disk.hold()
    log.roll()
    _, done = log.submit([Record.of(b"d")])
    assert disk.is_reached.wait(60)
    with pytest.raises(TimeoutError):
        done.result(0.05)
    disk.let_go()
    assert done.result(60).last_offset == 3
    assert log.recovery_point == 4


def test_who_closes_the_log_waits_for_the_thread(log: Log, disk: HeldDisk) -> None:
    disk.hold()
    log.roll()
    assert disk.is_reached.wait(60)
    with ThreadPoolExecutor(1) as thread:
        closing = thread.submit(log.close)
        with pytest.raises(TimeoutError):
            closing.result(0.05)
        disk.let_go()
        closing.result(60)
    assert log.recovery_point == 3
    with Log.open(log.directory) as again:
        assert (again.report.recovered_segments, again.log_end_offset) == (0, 3)


def test_a_log_that_was_abandoned_meanwhile_writes_nothing_more(log: Log, disk: HeldDisk) -> None:
    disk.hold()
    log.roll()
    assert disk.is_reached.wait(60)
    log.abandon()
    promised = (log.directory / PROMISED_OFFSETS_NAME).read_bytes()
    disk.let_go()
    wait_for_turn(log)
    assert (log.directory / PROMISED_OFFSETS_NAME).read_bytes() == promised
    assert log.recovery_point == 2


# --- who waits all the same


def test_a_roll_waits_where_others_have_copies(tmp_path: Path) -> None:
    log = slow_log(tmp_path / "t-0", replicated=True)
    log.roll()
    assert log.recovery_point == 1
    log.close()


def test_a_roll_waits_once_many_segments_are_not_flushed(tmp_path: Path) -> None:
    log = slow_log(tmp_path / "t-0")
    for number in range(1, MOST_UNFLUSHED):
        log.roll()
        append(log)
        assert (log.recovery_point, log.log_end_offset) == (0, number + 1)
    log.roll()
    assert log.recovery_point == MOST_UNFLUSHED
    log.close()


def test_a_roll_waits_where_there_can_be_no_thread(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", CONFIG, filesystem=Unthreaded()) as log:
        append(log)
        log.roll()
        assert log.recovery_point == 1


def test_a_roll_waits_where_a_crash_may_undo_a_cut(tmp_path: Path) -> None:
    """What was cut off would be back, with the next segment behind it."""
    log = slow_log(tmp_path / "t-0")
    append(log, b"b", b"c")
    log.flush()
    log.truncate_to(1)
    append(log, b"d", b"e")
    log.roll()
    assert log.recovery_point == 3
    append(log, b"f")
    log.roll()
    assert log.recovery_point == 3
    log.close()


def test_a_roll_waits_behind_a_crash_of_the_process_which_may_have_cut_the_segment(tmp_path: Path) -> None:
    slow_log(tmp_path / "t-0").abandon()
    log = slow_log(tmp_path / "t-0")
    log.roll()
    assert log.recovery_point == 2
    append(log)
    log.roll()
    assert log.recovery_point == 2
    log.close()


def test_a_roll_waits_for_nothing_behind_an_orderly_stop(tmp_path: Path) -> None:
    slow_log(tmp_path / "t-0").close()
    log = slow_log(tmp_path / "t-0")
    log.roll()
    assert (log.recovery_point, log.log_end_offset) == (1, 2)
    log.close()


def test_a_roll_waits_for_indexes_where_nothing_else_is_to_flush(tmp_path: Path) -> None:
    """Recovery would not make them anew: the recovery point is where the next segment begins."""
    log = slow_log(tmp_path / "t-0")
    log.flush()
    synced: list[str] = []
    fsync = log._flusher._filesystem.fsync

    def note(descriptor: int) -> None:
        fsync(descriptor)
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    log._flusher._filesystem.fsync = note  # type: ignore[method-assign]
    log.roll()
    assert file_name(FileKind.TIME_INDEX, 0) in synced
    log.close()


def test_what_is_promised_is_never_beyond_the_end_of_a_log_whose_next_segment_begins_behind_a_gap(
    tmp_path: Path,
) -> None:
    class Full(Unthreaded):
        is_full = False

        def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
            if self.is_full and len(data) > 400:
                raise OSError(errno.ENOSPC, "No space left on device")
            super().write(descriptor, data)

    disk = Full()
    log = Log.open(tmp_path / "t-0", LogConfig(segment_bytes=700), filesystem=disk)
    first, second = (
        encode_batch([Record(0, 0, None, b"v" * 500)], BatchTemplate(base_offset=offset, leader_epoch=0))
        for offset in (0, 20)
    )
    log.append_batches(first)
    disk.is_full = True
    with pytest.raises(OSError, match="No space left"):
        log.append_batches(second)
    log.abandon()
    with Log.open(tmp_path / "t-0") as again:
        assert again.log_end_offset in {1, 20}
        assert [record.offset for record in again.read(0, 1 << 20).records()] == [0]


def test_a_compaction_waits_for_what_decides_between_records(tmp_path: Path) -> None:
    """A record that is flushed must not go for one that a crash may take."""
    config = LogConfig(cleanup_policy=frozenset({"compact"}), file_delete_delay_ms=0)
    log = Log.open(tmp_path / "t-0", config, filesystem=Late())
    append(log, b"old", key=b"k")
    log.flush()
    append(log, b"other", key=b"l")
    log.roll()
    append(log, b"new", key=b"k")
    log.roll()
    log.update_high_watermark(log.log_end_offset)
    assert log.recovery_point == 1
    log.compact()
    assert log.recovery_point == 3
    log.close()


# --- what is synced by then


def test_indexes_and_the_snapshot_are_on_stable_storage_before_the_recovery_point_passes(tmp_path: Path) -> None:
    disk = NamingDisk()
    log = Log.open(tmp_path / "t-0", CONFIG, filesystem=disk)
    append(log)
    log.roll()
    wait_until(lambda: log.recovery_point == 1)
    synced = {step.removeprefix("sync ") for step in disk.steps if step.startswith("sync")}
    kinds = FileKind.LOG, FileKind.OFFSET_INDEX, FileKind.TIME_INDEX
    expected = {*(file_name(kind, 0) for kind in kinds), file_name(FileKind.PRODUCER_SNAPSHOT, 1), "t-0"}
    assert synced >= expected
    log.close()


def test_a_segment_that_is_closed_where_a_flush_has_ended_has_its_indexes_synced(log: Log, disk: HeldDisk) -> None:
    synced: list[str] = []
    fsync = disk.fsync

    def note(descriptor: int) -> None:
        fsync(descriptor)
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    log._flusher._filesystem.fsync = note  # type: ignore[method-assign]
    log._flusher._filesystem.beside = lambda call: call is not None  # type: ignore[method-assign]
    log.segments[-1].indexes._filesystem.fsync = note  # type: ignore[method-assign]
    disk.meanwhile = log.roll
    assert log.flush() == 3
    assert [segment.base_offset for segment in log.segments] == [0, 3]
    assert file_name(FileKind.TIME_INDEX, 0) in synced


# --- what fails


def test_a_disk_that_fails_then_poisons_the_log(log: Log, disk: HeldDisk) -> None:
    disk.failure = OSError(errno.EIO, "Input/output error")
    log.roll()
    wait_until(lambda: log.failure is not None)
    with pytest.raises(LogPoisonedError, match="Input/output error"):
        append(log)
    with pytest.raises(LogPoisonedError):
        log.flush()
    assert log.recovery_point == 2
    log = log.recover()
    assert log.log_end_offset == 3
    log.close()


def test_who_waits_for_an_append_is_told_of_it(log: Log, disk: HeldDisk) -> None:
    disk.hold()
    log.roll()
    _, done = log.submit([Record.of(b"d")])
    assert disk.is_reached.wait(60)
    disk.failure = OSError(errno.EIO, "Input/output error")
    disk.let_go()
    with pytest.raises(OSError, match="Input/output error"):
        done.result(60)
    assert log.recovery_point == 2
    log.abandon()


def test_who_closes_the_log_meanwhile_is_told_of_it(log: Log, disk: HeldDisk) -> None:
    """The system tells of it once, and that was the thread: a sync of the same file succeeds then."""
    disk.hold()
    log.roll()
    assert disk.is_reached.wait(60)
    with log._guard.lock:  # so that the thread cannot poison the log yet
        disk.failure = OSError(errno.EIO, "Input/output error")
        disk.let_go()
        wait_until(lambda: log._flusher._failure is not None)
        with pytest.raises(OSError, match="Input/output error"):
            log._closing.close()
    assert log.recovery_point == 2
    log.abandon()
    with Log.open(log.directory) as again:
        assert again.report.recovered_segments > 0


def test_what_is_cut_meanwhile_does_not_count_as_flushed(log: Log, disk: HeldDisk) -> None:
    append(log, b"d")
    disk.hold()
    log.roll()
    append(log, b"e")
    assert disk.is_reached.wait(60)
    log.truncate_to(3)
    append(log, b"f")
    assert log.recovery_point == 2
    disk.let_go()
    wait_for_turn(log)
    assert log.recovery_point == 2
    assert [bytes(record.value or b"") for record in log.read(0, 1 << 20).records()] == [b"a", b"b", b"c", b"f"]


# --- what a crash leaves


def crashed(log: Log, target: Path) -> Path:
    """The log's files as they are now, elsewhere."""
    shutil.copytree(log.directory, target, ignore=shutil.ignore_patterns(".lock"))
    return target


def end_of_batches(log: Log, offset: int) -> int:
    """Where the batches end below an offset, in the first segment."""
    return sum(batch.size for batch in log.segments[0].batches() if batch.last_offset < offset)


@pytest.mark.parametrize("end", [2, 3])
@pytest.mark.parametrize("cleanup_policy", ["delete", "compact"])
def test_a_log_ends_where_a_closed_segment_has_lost_its_end(tmp_path: Path, cleanup_policy: str, end: int) -> None:
    """At the end of a batch, where nothing else shows that."""
    log = slow_log(tmp_path / "t-0")
    append(log, b"b")
    log.flush()
    append(log, b"c", b"d")
    log.roll()
    append(log, b"e")
    root = crashed(log, tmp_path / "u-0")
    with open(root / file_name(FileKind.LOG, 0), "r+b") as file:
        file.truncate(end_of_batches(log, end))
    with Log.open(root, LogConfig(cleanup_policy=frozenset({cleanup_policy}))) as left:
        assert left.log_end_offset == end
        [dropped] = left.report.dropped
        assert (dropped.file, dropped.records) == (file_name(FileKind.LOG, 4), 1)
        assert dropped.reason == "it follows a segment of which the end was lost before it was flushed"
        assert (root / dropped.set_aside).stat().st_size == dropped.bytes
        assert [segment.base_offset for segment in left.segments] == [0]
        assert left.holes == ()
    log.close()


def test_a_closed_segment_that_lacks_what_was_flushed_is_still_damage(tmp_path: Path) -> None:
    log = slow_log(tmp_path / "t-0")
    append(log, b"b")
    log.flush()
    append(log, b"c", b"d")
    log.roll()
    append(log, b"e")
    root = crashed(log, tmp_path / "u-0")
    with open(root / file_name(FileKind.LOG, 0), "r+b") as file:
        file.truncate(end_of_batches(log, 1))
    with pytest.raises(DamagedLogError):
        Log.open(root)
    log.close()
