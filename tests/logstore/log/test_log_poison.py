"""What a failing disk does to a log: a full one only fails the append, any other failure ends writing."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from epoch.filesystem import FileSystem
from logstore.append.append_info import AppendInfo
from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.errors import DirectoryLockedError, LogClosedError, LogPoisonedError
from logstore.files.directory_lock import DirectoryLock
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.log.log import Log
from logstore.log.observers.log_observer import LogObserver
from logstore.topic_partition import TopicPartition
from tests.disk import FailingDisk as FailingStep
from tests.logstore.directories import assert_sound


class FailingDisk(FileSystem):
    """Fails the operations that a test names, after writing the first bytes of what was to be written."""

    def __init__(self) -> None:
        self.failing: dict[str, int] = {}

    def write(self, descriptor: int, data: bytes | memoryview) -> None:
        if "write" in self.failing:
            super().write(descriptor, memoryview(data)[:7])
        self._fail("write")
        super().write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        self._fail("fsync")
        super().fsync(descriptor)

    def truncate(self, path: Path, size: int) -> None:
        self._fail("truncate")
        super().truncate(path, size)

    def _fail(self, operation: str) -> None:
        if operation in self.failing:
            raise OSError(self.failing[operation], "the disk fails")


ABANDON = "`abandon()` closes the log as it is and writes nothing: to open it again then recovers it"


class Failures(LogObserver):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def appended(self, log: Path, info: AppendInfo) -> None:
        self.told.append((log.name, info.last_offset))

    def failed(self, log: Path, error: OSError) -> None:
        self.told.append((log.name, error.errno))


def batch(base_offset: int) -> bytes:
    records = [Record(0, 5, b"k", b"v" * 50)] * 3
    return bytes(encode_batch(records, BatchTemplate(base_offset=base_offset, leader_epoch=0)))


@pytest.fixture
def disk() -> FailingDisk:
    return FailingDisk()


@pytest.fixture
def observer() -> Failures:
    return Failures()


@pytest.fixture
def log(tmp_path: Path, disk: FailingDisk, observer: Failures) -> Log:
    log = Log.open(tmp_path / "t-0", filesystem=disk, observer=observer)
    log.append_batches(batch(0))
    return log


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_fails_the_append_and_leaves_nothing_of_it(log: Log, disk: FailingDisk, error: int) -> None:
    disk.failing = {"write": error}
    with pytest.raises(OSError, match="the disk fails"):
        log.append_batches(batch(3))
    assert log.log_end_offset == 3
    disk.failing = {}
    log.append_batches(batch(3))
    assert [record.offset for record in log.read(0, 1000).records()] == list(range(6))
    log.close()
    assert_sound(log.directory)


@pytest.mark.parametrize(
    ("number", "step"), [(1, "mkdir t-0"), (2, "fsync directory root"), (4, "open 00000000000000000000.log")]
)
def test_a_full_disk_opens_no_log_and_says_what_to_do(tmp_path: Path, number: int, step: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    disk = FailingStep(number)
    with pytest.raises(OSError, match="No space left on device") as caught:
        Log.open(root / "t-0", filesystem=disk)
    assert (disk.failed, caught.value.filename is None) == (step, False)
    assert caught.value.__notes__ == ["the log was not opened, and keeps what it has: make space, and open it again"]
    with Log.open(root / "t-0") as log:
        assert log.append([b"value"]).last_offset == 0


def test_a_log_that_a_full_disk_keeps_from_closing_may_be_abandoned(log: Log, disk: FailingDisk) -> None:
    disk.failing = {"write": errno.ENOSPC}
    with pytest.raises(OSError, match="the disk fails") as caught:
        log.close()
    assert caught.value.__notes__ == ["nothing has changed in the log: make space, and do it again", ABANDON]
    log.abandon()
    assert Log.open(log.directory).log_end_offset == 3


def test_closing_a_poisoned_log_of_a_directory_names_abandon_too(tmp_path: Path, disk: FailingDisk) -> None:
    with LogDirectory.open(tmp_path, filesystem=disk) as directory:
        log = directory.create(TopicPartition("t", 0))
        log.append_batches(batch(0))
        disk.failing = {"fsync": errno.ENOSPC}
        with pytest.raises(OSError, match="the disk fails"):
            log.flush()
        disk.failing = {}
        with pytest.raises(LogPoisonedError, match=r"directory\.recover") as caught:
            log.close()
        assert caught.value.__notes__ == [ABANDON]
        log.abandon()
        log.close()


@pytest.mark.parametrize("operation", [Log.flush, Log.roll])
def test_a_full_disk_fails_what_writes_indexes_and_leaves_the_log_as_it_was(
    log: Log, disk: FailingDisk, operation: Callable[[Log], object]
) -> None:
    disk.failing = {"write": errno.ENOSPC}
    with pytest.raises(OSError, match="the disk fails") as caught:
        operation(log)
    assert caught.value.__notes__ == ["nothing has changed in the log: make space, and do it again"]
    assert log.recovery_point == 0
    disk.failing = {}
    log.append_batches(batch(3))
    operation(log)
    assert log.recovery_point == 6
    log.close()
    assert_sound(log.directory)


@pytest.mark.parametrize(
    "failing", [{"write": errno.EIO}, {"write": errno.ENOSPC, "truncate": errno.EIO}, {"write": errno.EROFS}]
)
def test_any_other_failed_write_poisons_the_log(
    log: Log, disk: FailingDisk, observer: Failures, failing: dict[str, int]
) -> None:
    disk.failing = failing
    with pytest.raises(OSError, match="the disk fails"):
        log.append_batches(batch(3))
    disk.failing = {}
    with pytest.raises(LogPoisonedError, match="open the log again"):
        log.append_batches(batch(3))
    assert [record.offset for record in log.read(0, 1000).records()] == [0, 1, 2]
    assert observer.told[0] == ("t-0", 2)
    assert len(observer.told) == 2
    recovered = log.recover()
    assert recovered.log_end_offset == 3
    recovered.append_batches(batch(3))
    recovered.close()
    assert_sound(log.directory)


def test_a_failed_fsync_poisons_the_log_even_when_the_disk_is_only_full(log: Log, disk: FailingDisk) -> None:
    disk.failing = {"fsync": errno.ENOSPC}
    with pytest.raises(OSError, match="the disk fails"):
        log.flush()
    assert log.recovery_point == 0
    disk.failing = {}
    with pytest.raises(LogPoisonedError):
        log.flush()
    log.recover().close()
    assert_sound(log.directory)


def test_a_closed_log_takes_nothing(log: Log) -> None:
    log.close()
    log.close()
    files = {path.name: path.read_bytes() for path in log.directory.iterdir()}
    taking: list[Callable[[], object]] = [
        lambda: log.append_batches(batch(3)),
        lambda: log.update_high_watermark(1),
        log.expire_producers,
        lambda: log.epochs.assign(9, 1000),
        lambda: log.epochs.truncate_to(0),
        log.epochs.clear_and_flush,
        log.epochs.flush,
    ]
    for call in taking:
        with pytest.raises(LogClosedError, match="the log is closed"):
            call()
    assert log.epochs.latest_epoch == 0
    assert {path.name: path.read_bytes() for path in log.directory.iterdir()} == files


def test_what_a_poisoned_log_advises_can_be_done_word_for_word(log: Log, disk: FailingDisk) -> None:
    for advised in (r"`log = log.recover\(\)`", r"`abandon\(\)` it, and open the log again"):
        disk.failing = {"fsync": errno.EIO}
        with pytest.raises(OSError, match="the disk fails"):
            log.flush()
        disk.failing = {}
        with pytest.raises(LogPoisonedError, match=advised):
            log.append_batches(batch(log.log_end_offset))
        if "recover" in advised:
            log = log.recover()
        else:
            log.abandon()
            log = Log.open(log.directory)
        log.append_batches(batch(log.log_end_offset))
    log.close()
    assert_sound(log.directory)


@pytest.mark.parametrize("close", [Log.close, Log.abandon, Log.recover])
@pytest.mark.parametrize("checkpoints", [None, PartitionCheckpoints(clean_shutdown=True)])
def test_a_closed_log_is_not_recovered(
    tmp_path: Path, close: Callable[[Log], object], checkpoints: PartitionCheckpoints | None
) -> None:
    log = Log.open(tmp_path / "t-0", checkpoints=checkpoints)
    log.append_batches(batch(0))
    taking_its_place = close(log)
    with pytest.raises(LogClosedError, match="the log is closed; use the log that replaced it, or open it again"):
        log.recover()
    if isinstance(taking_its_place, Log):
        taking_its_place.append_batches(batch(3))
        taking_its_place.close()


def test_a_recovery_that_is_broken_off_can_be_done_again(log: Log) -> None:
    with DirectoryLock.acquire(log.directory.parent), pytest.raises(DirectoryLockedError):
        log.recover()
    with pytest.raises(LogClosedError):
        log.append_batches(batch(3))
    log.recover().close()
    with pytest.raises(LogClosedError):
        log.recover()


def test_a_log_that_stands_alone_remembers_its_offsets(log: Log) -> None:
    for base_offset in range(3, 30, 3):
        log.append_batches(batch(base_offset))
    log.update_high_watermark(20)
    log.delete_records(7)
    log.close()
    again = Log.open(log.directory)
    assert (again.log_start_offset, again.high_watermark, again.recovery_point) == (7, 20, 30)
    assert again.report.recovered_segments == 0
    again.abandon()
    crashed = Log.open(log.directory)
    assert (crashed.log_start_offset, crashed.report.recovered_segments) == (7, 1)
    crashed.close()
