"""A full disk has not failed: one partition may have to be recovered after it, and all others go on."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import pytest

from epoch.filesystem import FileSystem
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.errors import LogPoisonedError
from logstore.files.offset_checkpoint import (
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    OffsetCheckpoint,
)
from logstore.files.only_copy.space_reserve import BYTES_PER_LOG, RESERVE_BYTES, RESERVE_NAME
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.topic_partition import TopicPartition
from tests.small_disk import SmallDisk, small_disk

PARTITIONS = [TopicPartition("t", number) for number in range(3)]
FIRST = PARTITIONS[0]
RECORD = Record.of(b"value", timestamp=1)
FOREVER = {"retention_ms": -1, "file_delete_delay_ms": 0}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def filled(
    disk: FileSystem, root: Path, config: LogConfig, clock: Callable[[], int] = lambda: 1, *, replicated: bool = False
) -> LogDirectory:
    """Partitions of six batches each, with a producer's state to be kept."""
    directory = LogDirectory.open(root, config, filesystem=disk, clock=clock, replicated=replicated)
    for partition in PARTITIONS:
        log = directory.create(partition)
        for sequence in range(6):
            log.append([RECORD], template=BatchTemplate(producer_id=7, producer_epoch=0, base_sequence=sequence))
    return directory


def checkpoint(root: Path, name: str) -> dict[TopicPartition, int]:
    return OffsetCheckpoint.read(root / name)


POISONING: dict[str, tuple[LogConfig, Callable[[Log], object]]] = {
    "a flushed append": (LogConfig(flush_messages=7, **FOREVER), lambda log: log.append([RECORD] * 2)),
    "a truncation": (LogConfig(segment_bytes=150, **FOREVER), lambda log: log.truncate_to(3)),
}


class FullAtSyncs(FileSystem):
    """Finds no space for what was written as late as on syncing it, as network file systems and thin volumes do."""

    number = 0

    def fsync(self, descriptor: int) -> None:
        if self.number:
            raise OSError(self.number, os.strerror(self.number))
        super().fsync(descriptor)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.ENOMEM])
@pytest.mark.parametrize("change", POISONING)
def test_a_log_that_a_full_disk_poisons_takes_no_other_offline(tmp_path: Path, change: str, number: int) -> None:
    config, call = POISONING[change]
    disk = FullAtSyncs()
    directory = filled(disk, tmp_path / "root", config)
    disk.number = number
    with pytest.raises(OSError, match=os.strerror(number)):
        call(directory.log(FIRST))
    disk.number = 0
    assert isinstance(directory.log(FIRST).failure, LogPoisonedError)
    directory.run_periodic()
    assert (directory.failure, len(directory.partitions)) == (None, len(PARTITIONS))
    for other in PARTITIONS[1:]:
        directory.log(other).append([RECORD])
    with pytest.raises(LogPoisonedError, match=r"interrupted by (a full disk|OSError)"):
        directory.log(FIRST).append([RECORD])
    directory.recover(FIRST).append([RECORD])
    directory.close()
    assert (directory.root / ".kafka_cleanshutdown").exists()


def test_a_disk_that_is_full_takes_no_partition_offline(disk: SmallDisk) -> None:
    config = LogConfig(segment_bytes=10_000, **FOREVER)
    directory = filled(disk, disk.path / "root", config, replicated=True)
    disk.fill()
    for partition in PARTITIONS:
        with pytest.raises(OSError, match="No space left on device"):
            directory.log(partition).append([Record.of(b"v" * 8000, timestamp=1)])
    with pytest.raises(OSError, match="No space left on device"):
        directory.checkpoint()
    directory.run_periodic()
    disk.make_space()
    directory.run_periodic()
    assert directory.failure is None
    assert [directory.log(partition).append([RECORD]).first_offset for partition in PARTITIONS] == [6, 6, 6]
    directory.close()


def test_a_disk_that_fails_as_an_append_is_taken_back_from_a_full_one_takes_the_root_offline(tmp_path: Path) -> None:
    class FailsAfterwards(FileSystem):
        is_failing = False

        def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
            super().write(descriptor, memoryview(data)[:7] if self.is_failing else data)
            if self.is_failing:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def truncate(self, path: Path, size: int) -> None:
            if self.is_failing:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            super().truncate(path, size)

    disk = FailsAfterwards()
    directory = LogDirectory.open(tmp_path / "root", filesystem=disk)
    log = directory.create(FIRST)
    log.append([RECORD])
    disk.is_failing = True
    with pytest.raises(OSError, match="No space left on device") as told:
        log.append([RECORD])
    assert "could not be undone" in told.value.__notes__[0]
    directory.run_periodic()
    assert directory.failure is not None
    assert directory.failure.errno == errno.EIO
    directory.close()


class TestTheOnlyCopies:
    """A root keeps space for what makes some, and for what must not wait for it."""

    CONFIG = LogConfig(segment_bytes=16_384, **FOREVER)

    @pytest.fixture
    def directory(self, disk: SmallDisk) -> LogDirectory:
        """Logs that have filled their disk to the last byte."""
        if not disk.is_mounted:
            pytest.skip("a disk with an end is a mount of its own: that needs root")
        with self.opened(disk) as directory:
            for partition in PARTITIONS:
                directory.create(partition)
        directory = self.opened(disk)
        for size in (3_000, 1):
            with suppress(OSError):
                while True:
                    for log in directory.partitions.values():
                        log.append([Record.of(b"x" * size, timestamp=1)])
                        log.flush()
        disk.fill()
        assert all(len(log.segments) > 2 for log in directory.partitions.values())
        return directory

    def opened(self, disk: SmallDisk) -> LogDirectory:
        return LogDirectory.open(disk.path / "root", self.CONFIG, filesystem=disk, clock=lambda: 1)

    @staticmethod
    def values(directory: LogDirectory) -> dict[TopicPartition, list[Record]]:
        return {partition: list(log.records()) for partition, log in directory.partitions.items()}

    @staticmethod
    def make_space(directory: LogDirectory) -> None:
        """Delete the oldest records of each log, and see that there is space for others then."""
        for log in directory.partitions.values():
            log.delete_records(log.segments[1].base_offset)
        directory.enforce_retention()
        for log in directory.partitions.values():
            assert log.segments[0].base_offset == log.log_start_offset > 0
            log.append([Record.of(b"y" * 5_000, timestamp=1)])

    def test_can_be_deleted_from(self, directory: LogDirectory) -> None:
        self.make_space(directory)
        directory.close()

    def test_are_checkpointed(self, directory: LogDirectory) -> None:
        ends = {partition: log.log_end_offset for partition, log in directory.partitions.items()}
        directory.checkpoint()
        directory.checkpoint_high_watermarks()
        for name in (RECOVERY_POINT_CHECKPOINT, HIGH_WATERMARK_CHECKPOINT):
            assert checkpoint(directory.root, name) == ends
        directory.close()

    @pytest.mark.parametrize("ends", [["closed"], ["died"], ["died", "closed", "died", "died"]])
    def test_are_closed_and_opened_again(self, disk: SmallDisk, directory: LogDirectory, ends: list[str]) -> None:
        before = self.values(directory)
        for end in ends:
            (directory.close if end == "closed" else directory.abandon)()
            directory = self.opened(disk)
            assert not directory.unreadable
            assert (directory.recovery is None) == (end == "closed")
            assert self.values(directory) == before
            disk.fill()
        self.make_space(directory)
        directory.close()

    def test_space_is_kept_for_each_log_and_not_for_new_ones(self, directory: LogDirectory) -> None:
        size = RESERVE_BYTES + len(PARTITIONS) * BYTES_PER_LOG
        assert (directory.root / RESERVE_NAME).stat().st_size == size
        with pytest.raises(OSError, match="No space left on device"):
            directory.create(TopicPartition("more", 0), topic_id=UUID(int=3))
        assert (directory.root / RESERVE_NAME).stat().st_size == size
        directory.checkpoint()
        directory.close()


class TestMakingSpace:
    def test_a_partition_can_be_deleted_from_a_full_disk(self, disk: SmallDisk) -> None:
        directory = filled(disk, disk.path / "root", LogConfig(**FOREVER))
        disk.fill()
        directory.delete(FIRST)
        assert list(directory.partitions) == PARTITIONS[1:]
        directory.remove_deleted()
        assert not list(directory.root.glob("t-0*"))
        disk.make_space()
        directory.checkpoint()
        assert FIRST not in checkpoint(directory.root, RECOVERY_POINT_CHECKPOINT)
        directory.close()

    def test_so_can_one_that_is_poisoned(self, disk: SmallDisk) -> None:
        directory = filled(disk, disk.path / "root", LogConfig(**FOREVER))
        disk.fill()
        directory.log(FIRST)._guard.poison(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        directory.delete(FIRST)
        assert list(directory.partitions) == PARTITIONS[1:]
        disk.make_space()
        directory.close()

    def test_what_was_said_of_a_deleted_partition_is_not_said_of_one_that_is_made_anew(self, disk: SmallDisk) -> None:
        directory = filled(disk, disk.path / "root", LogConfig(**FOREVER), replicated=True)
        log = directory.log(FIRST)
        log.update_high_watermark(6)
        log.delete_records(5)
        directory.checkpoint()
        directory.checkpoint_high_watermarks()
        assert checkpoint(directory.root, LOG_START_OFFSET_CHECKPOINT) == {FIRST: 5}
        disk.fill()
        directory.delete(FIRST)
        with pytest.raises(OSError, match="No space left on device"):
            directory.create(FIRST)
        disk.make_space()
        again = directory.create(FIRST)
        for _ in range(6):
            again.append([RECORD])
        for name in (LOG_START_OFFSET_CHECKPOINT, RECOVERY_POINT_CHECKPOINT, HIGH_WATERMARK_CHECKPOINT):
            assert FIRST not in checkpoint(directory.root, name)
        directory.abandon()
        with LogDirectory.open(directory.root) as after_a_crash:
            log = after_a_crash.log(FIRST)
            assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (0, 0, 6)

    def test_retention_of_a_log_alone_needs_no_space(self, disk: SmallDisk) -> None:
        with Log.open(disk.path / "t-0", LogConfig(segment_bytes=150, retention_ms=-1), filesystem=disk) as log:
            for _ in range(9):
                log.append([RECORD])
            log.update_high_watermark(9)
            log.config = LogConfig(segment_bytes=150, retention_bytes=150, retention_ms=-1)
            disk.fill()
            assert log.delete_old_segments() > 0
            start = log.log_start_offset
            assert (log.failure, start > 0) == (None, True)
            disk.make_space()
            log.append([RECORD])
            log.abandon()
        with Log.open(disk.path / "t-0") as log:
            assert (log.log_start_offset, log.log_end_offset) == (start, 10)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENOMEM])
@pytest.mark.parametrize("task", [LogDirectory.flush_due_logs, LogDirectory.enforce_retention])
def test_one_log_that_lacks_something_does_not_keep_what_is_due_from_the_others(
    tmp_path: Path, task: Callable[[LogDirectory], None], number: int
) -> None:
    class Lacking(FileSystem):
        is_lacking = False

        def open(self, path: Path, *, truncate: bool = False) -> int:
            if self.is_lacking and path.parent.name == str(FIRST):
                raise OSError(number, os.strerror(number), str(path))
            return super().open(path, truncate=truncate)

    disk, now = Lacking(), [1]
    config = LogConfig(flush_ms=10, retention_ms=10, file_delete_delay_ms=0)
    directory = filled(disk, tmp_path / "root", config, lambda: now[0])
    for log in directory.partitions.values():
        log.update_high_watermark(6)
    directory.flush_due_logs()
    disk.is_lacking = True
    now[0] = 1_000
    with pytest.raises(OSError, match=os.strerror(number)):
        task(directory)
    done = [max(log.recovery_point, log.log_start_offset) for log in directory.partitions.values()]
    assert done == [0, 6, 6]
    now[0] = 1_000_000
    directory.run_periodic()
    assert (directory.failure, directory.log(FIRST).failure) == (None, None)
    disk.is_lacking = False
    now[0] = 2_000_000
    directory.run_periodic()
    assert directory.log(FIRST).log_start_offset == 6
    directory.close()
