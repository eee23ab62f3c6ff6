"""Many partitions under one root: its lock, its checkpoint files, recovery of all, deletion, and a failing disk."""

import errno
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeGuard
from uuid import uuid4

import pytest

from epoch.filesystem import FileSystem
from logstore.append.append_info import AppendInfo
from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.directory.directory_settings import DirectorySettings
from logstore.directory.log_directory import LogDirectory
from logstore.errors import (
    CorruptBatchError,
    DirectoryLockedError,
    InvalidDirectoryNameError,
    LogClosedError,
    LogPoisonedError,
    LogStoreError,
    NotALogDirectoryError,
    OfflineDirectoryError,
    PartitionExistsError,
    SegmentTooLargeError,
    UnknownPartitionError,
)
from logstore.files.offset_checkpoint import OffsetCheckpoint
from logstore.files.partition_metadata import PartitionMetadata
from logstore.log.log import Log
from logstore.log.observers.log_observer import LogObserver
from logstore.log_config import LogConfig
from logstore.recovery.recovery_report import RecoveryReport
from logstore.topic_partition import TopicPartition
from tests.open_files import open_files

ORDERS = TopicPartition("orders", 0)
OTHERS = TopicPartition("orders", 1)
NOW = 1_700_000_000_000


class Clock:
    """Stands still unless told."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


class FailingDisk(FileSystem):
    """The real one, until it fails: all writes and flushes below one directory."""

    def __init__(self) -> None:
        self.error: int | None = None

    def _step(self) -> None:
        if self.error is not None:
            raise OSError(self.error, os.strerror(self.error))

    def write(self, descriptor: int, data: bytes | memoryview) -> None:
        self._step()
        super().write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        self._step()
        super().fsync(descriptor)


def records(count: int = 3) -> list[Record]:
    return [Record(0, NOW, key=b"k", value=b"v" * 100) for _ in range(count)]


def checkpoint(root: Path, name: str) -> dict[TopicPartition, int]:
    return OffsetCheckpoint.read(root / f"{name}-checkpoint")


def contents(root: Path) -> dict[str, bytes]:
    """All files of a root's partitions."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.glob("*/*")}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "kafka-logs"


@pytest.fixture
def clock() -> Clock:
    return Clock()


def filled(root: Path) -> LogDirectory:
    """Two partitions of three records each."""
    directory = LogDirectory.open(root)
    for partition in (ORDERS, OTHERS):
        directory.create(partition).append(records(), leader_epoch=0)
    return directory


class TestOpening:
    def test_partitions_that_were_made_are_there_the_next_time(self, root: Path) -> None:
        filled(root).close()
        with LogDirectory.open(root) as directory:
            assert set(directory.partitions) == {ORDERS, OTHERS}
            assert directory.log(ORDERS).log_end_offset == 3

    def test_a_root_is_locked_while_it_is_open(self, root: Path) -> None:
        directory = LogDirectory.open(root)
        with pytest.raises(DirectoryLockedError):
            LogDirectory.open(root)
        directory.close()
        LogDirectory.open(root).close()

    def test_a_root_that_could_not_be_opened_is_not_locked(self, root: Path) -> None:
        filled(root).close()
        (root / ".kafka_cleanshutdown").unlink()
        disk = FailingDisk()
        disk.error = errno.EIO
        with pytest.raises(OSError, match="Input/output"):
            LogDirectory.open(root, filesystem=disk)
        LogDirectory.open(root).close()

    def test_the_controller_s_own_log_is_left_alone(self, root: Path) -> None:
        filled(root).close()
        (root / "__cluster_metadata-0").mkdir()
        with LogDirectory.open(root) as directory:
            assert set(directory.partitions) == {ORDERS, OTHERS}
        assert not list((root / "__cluster_metadata-0").iterdir())

    def test_configurations_may_differ_by_partition(self, root: Path) -> None:
        filled(root).close()
        special = LogConfig(segment_bytes=5_000)
        with LogDirectory.open(root, lambda each: special if each == ORDERS else LogConfig()) as directory:
            assert directory.log(ORDERS).config is special
            assert directory.log(OTHERS).config.segment_bytes == 1 << 30


class TestStopping:
    def test_a_clean_stop_is_marked_and_the_mark_is_gone_while_open(self, root: Path) -> None:
        directory = filled(root)
        marker = root / ".kafka_cleanshutdown"
        assert not marker.exists()
        directory.close()
        assert marker.read_bytes() == b'{"version":0,"brokerEpoch":-1}'
        with LogDirectory.open(root):
            assert not marker.exists()

    def test_the_broker_s_epoch_is_kept(self, root: Path) -> None:
        filled(root).close()
        (root / ".kafka_cleanshutdown").write_bytes(b'{"version":0,"brokerEpoch":257}')
        LogDirectory.open(root).close()
        assert (root / ".kafka_cleanshutdown").read_bytes() == b'{"version":0,"brokerEpoch":257}'

    def test_checkpoints_say_what_a_broker_wants_to_know(self, root: Path) -> None:
        directory = filled(root)
        log = directory.log(ORDERS)
        log.update_high_watermark(3)
        log.delete_records(2)
        directory.close()
        assert checkpoint(root, "recovery-point-offset") == {ORDERS: 3, OTHERS: 3}
        assert checkpoint(root, "replication-offset") == {ORDERS: 3, OTHERS: 3}
        assert checkpoint(root, "log-start-offset") == {ORDERS: 2}
        with LogDirectory.open(root) as again:
            assert (again.log(ORDERS).log_start_offset, again.log(ORDERS).high_watermark) == (2, 3)

    def test_after_an_unclean_stop_all_logs_are_recovered(self, root: Path) -> None:
        directory = filled(root)
        directory.log(OTHERS).flush()
        directory.checkpoint()
        directory.abandon()
        with open(root / "orders-0/00000000000000000000.log", "ab") as log:
            log.write(b"torn")
        done: list[int] = []
        with LogDirectory.open(root, progress=done.append) as again:
            assert {each: log.log_end_offset for each, log in again.partitions.items()} == {ORDERS: 3, OTHERS: 3}
            assert again.log(ORDERS).report.dropped_bytes == 4
            assert again.log(OTHERS).report.dropped == []
            found = again.recovery
        assert found is not None
        assert (found.logs, found.truncated_logs, found.segments, found.bytes) == (2, 1, 2, sum(done))
        with LogDirectory.open(root) as again:
            assert again.recovery is None
        assert sum(done) == sum(log.stat().st_size for log in root.rglob("*.log")) + 4

    @pytest.mark.parametrize("high_watermark", [0, 2, 3])
    def test_a_log_that_is_cut_below_its_high_watermark_has_lost_committed_records(
        self, root: Path, high_watermark: int
    ) -> None:
        directory = filled(root)
        directory.log(ORDERS).update_high_watermark(high_watermark)
        directory.checkpoint_high_watermarks()
        directory.abandon()
        with open(root / "orders-0/00000000000000000000.log", "r+b") as log:
            log.truncate(log.seek(0, os.SEEK_END) - 1)
        with LogDirectory.open(root) as again:
            report = again.log(ORDERS).report
            end = again.log(ORDERS).log_end_offset
        assert (report.high_watermark_before, report.log_end_offset) == (high_watermark, end)
        assert report.committed_offsets_lost == max(0, high_watermark - end)
        assert [tail.records for tail in report.dropped] == [0]

    def test_once_closed_it_leaves_the_checkpoints_as_they_are(self, root: Path, clock: Clock) -> None:
        directory = LogDirectory.open(root, clock=clock)
        log = directory.create(ORDERS)
        log.append(records(), leader_epoch=0)
        log.update_high_watermark(2)
        directory.close()
        for write in (directory.checkpoint, directory.checkpoint_high_watermarks):
            with pytest.raises(DirectoryLockedError):
                write()
        clock.now += 3_600_000
        directory.run_periodic()
        assert checkpoint(root, "replication-offset") == {ORDERS: 2}
        assert checkpoint(root, "recovery-point-offset") == {ORDERS: 3}

    @pytest.mark.parametrize("target", ["root/elsewhere", "away", "nowhere"])
    def test_a_partition_that_is_a_link_is_unreadable_and_keeps_its_checkpoints(
        self, target: str, tmp_path: Path
    ) -> None:
        root = tmp_path / "root"
        with LogDirectory.open(root) as directory:
            for partition in (ORDERS, OTHERS):
                log = directory.create(partition)
                log.append([Record(0, NOW, None, b"v")] * 5)
                log.update_high_watermark(5)
        (root / str(ORDERS)).rename(tmp_path / ("gone" if target == "nowhere" else target))
        (root / str(ORDERS)).symlink_to(tmp_path / target)
        with LogDirectory.open(root) as directory:
            assert set(directory.partitions) == {OTHERS}
            with pytest.raises(LogStoreError, match="orders-0: the partition's directory is a symbolic link"):
                directory.log(ORDERS)
            with pytest.raises(PartitionExistsError):
                directory.create(ORDERS)
            assert directory.failure is None
        for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
            assert OffsetCheckpoint.read(root / name) == {ORDERS: 5, OTHERS: 5}
        assert not (root / ".kafka_cleanshutdown").exists()

    def test_a_logs_own_directory_is_no_root(self, tmp_path: Path) -> None:
        with Log.open(tmp_path / "orders-0") as log:
            log.append([Record(0, NOW, None, b"v")] * 5)
            log.update_high_watermark(5)
            log.delete_records(3)
        before = {path.name: path.read_bytes() for path in (tmp_path / "orders-0").iterdir()}
        with pytest.raises(NotALogDirectoryError, match=r"open it with Log\.open, or name its parent"):
            LogDirectory.open(tmp_path / "orders-0")
        assert {path.name: path.read_bytes() for path in (tmp_path / "orders-0").iterdir()} == before
        with Log.open(tmp_path / "orders-0") as log:
            assert (log.log_start_offset, log.high_watermark) == (3, 5)

    def test_an_unreadable_partition_keeps_the_others_open_and_the_stop_unclean(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        filled(root).abandon()
        monkeypatch.setattr("logstore.recovery.segment_recovery.MAX_SEGMENT_BYTES", 400)
        with open(root / "orders-0/00000000000000000000.log", "ab") as log:
            log.write(bytes(100))
        with LogDirectory.open(root) as directory:
            assert set(directory.unreadable) == {ORDERS}
            assert directory.log(OTHERS).log_end_offset == 3
            with pytest.raises(SegmentTooLargeError):
                directory.log(ORDERS)
        assert not (root / ".kafka_cleanshutdown").exists()


class TestPartitions:
    def test_a_partition_is_made_once(self, root: Path) -> None:
        topic_id = uuid4()
        with LogDirectory.open(root) as directory:
            directory.create(ORDERS, topic_id=topic_id)
            with pytest.raises(PartitionExistsError):
                directory.create(ORDERS)
            with pytest.raises(UnknownPartitionError, match="orders-1"):
                directory.log(OTHERS)
            with pytest.raises(InvalidDirectoryNameError):
                directory.create(TopicPartition("no/such", 0))
        assert PartitionMetadata.read(root / "orders-0/partition.metadata").topic_id == topic_id

    def test_many_are_made_at_once_as_each_is_made_alone(self, root: Path, tmp_path: Path) -> None:
        topic_ids = {TopicPartition("orders", number): uuid4() for number in range(40)}
        alone = tmp_path / "alone"
        with LogDirectory.open(root) as directory, LogDirectory.open(alone) as other:
            directory.create_many(topic_ids)
            for partition, topic_id in topic_ids.items():
                other.create(partition, topic_id=topic_id)
                directory.log(partition).append(records(), leader_epoch=0)
                other.log(partition).append(records(), leader_epoch=0)
        assert contents(root) == contents(alone)

    def test_what_keeps_one_of_many_from_being_made_is_raised_and_others_can_be_made(self, root: Path) -> None:
        topic_ids = {ORDERS: uuid4(), OTHERS: uuid4()}
        with LogDirectory.open(root) as directory:
            (root / str(OTHERS)).mkdir()
            with pytest.raises(PartitionExistsError, match="orders-1"):
                directory.create_many(topic_ids)
            assert OTHERS not in directory.partitions
            directory.create(ORDERS)

    def test_many_whose_disk_fails_take_their_root_offline(self, root: Path) -> None:
        disk = FailingDisk()
        directory = LogDirectory.open(root, filesystem=disk)
        disk.error = errno.EIO
        with pytest.raises(OSError, match="Input/output"):
            directory.create_many({ORDERS: uuid4(), OTHERS: uuid4()})
        assert directory.failure is not None
        assert not directory.partitions
        directory.close()

    def test_many_that_a_full_disk_has_broken_off_are_made_by_the_next_call(self, root: Path) -> None:
        disk = FailingDisk()
        topic_ids = {ORDERS: uuid4(), OTHERS: uuid4()}
        with LogDirectory.open(root, filesystem=disk) as directory:
            disk.error = errno.ENOSPC
            with pytest.raises(OSError, match="No space"):
                directory.create_many(topic_ids)
            assert directory.failure is None
            disk.error = None
            directory.create_many({each: topic_ids[each] for each in topic_ids if each not in directory.partitions})
            assert set(directory.partitions) == set(topic_ids)

    @pytest.mark.parametrize("partition", [TopicPartition("orders", -3), "orders-3", TopicPartition("orders/x", 0)])
    def test_what_a_directory_cannot_be_named_after_is_none(self, root: Path, partition: TopicPartition) -> None:
        with LogDirectory.open(root) as directory:
            with pytest.raises(InvalidDirectoryNameError):
                directory.create(partition)
            assert not directory.partitions

    def test_a_deleted_partition_is_renamed_and_removed_later(self, root: Path, clock: Clock) -> None:
        filled(root).close()
        with LogDirectory.open(root, clock=clock) as directory:
            directory.delete(ORDERS)
            assert set(directory.partitions) == {OTHERS}
            assert checkpoint(root, "recovery-point-offset") == {OTHERS: 3}
            (renamed,) = root.glob("orders-0.*-delete")
            directory.run_periodic()
            assert renamed.exists()
            clock.now += 60_000
            directory.run_periodic()
            assert not renamed.exists()
            directory.create(ORDERS)
            assert directory.log(ORDERS).log_end_offset == 0

    def test_a_deletion_that_a_crash_cut_off_is_finished(self, root: Path, clock: Clock) -> None:
        filled(root).close()
        with LogDirectory.open(root, clock=clock) as directory:
            directory.delete(ORDERS)
        with LogDirectory.open(root, clock=clock) as directory:
            assert set(directory.partitions) == {OTHERS}
            directory.run_periodic()
        assert not list(root.glob("*-delete"))


class TestWhatIsDue:
    def test_checkpoints_are_written_at_their_intervals(self, root: Path, clock: Clock) -> None:
        with LogDirectory.open(root, clock=clock) as directory:
            log = directory.create(ORDERS)
            log.append(records(), leader_epoch=0)
            log.flush()
            log.update_high_watermark(2)
            clock.now += 4_999
            directory.run_periodic()
            assert not (root / "replication-offset-checkpoint").exists()
            clock.now += 1
            directory.run_periodic()
            assert checkpoint(root, "replication-offset") == {ORDERS: 2}
            assert not (root / "recovery-point-offset-checkpoint").exists()
            clock.now += 55_000
            directory.run_periodic()
            assert checkpoint(root, "recovery-point-offset") == {ORDERS: 3}

    def test_logs_are_flushed_after_flush_ms(self, root: Path, clock: Clock) -> None:
        with LogDirectory.open(root, LogConfig(flush_ms=10_000), clock=clock) as directory:
            log = directory.create(ORDERS)
            log.append(records(), leader_epoch=0)
            clock.now += 1_000
            directory.run_periodic()
            assert log.recovery_point == 0
            clock.now += 10_000
            directory.run_periodic()
            assert log.recovery_point == 3

    def test_retention_is_enforced(self, root: Path, clock: Clock) -> None:
        config = LogConfig(retention_bytes=1, segment_bytes=500)
        with LogDirectory.open(root, config, clock=clock) as directory:
            log = directory.create(ORDERS)
            for _ in range(4):
                log.append(records(), leader_epoch=0)
            log.update_high_watermark(12)
            clock.now += DirectorySettings().log_retention_check_interval_ms
            directory.run_periodic()
            assert log.log_start_offset == 9


class TestAFailingDisk:
    def test_a_poisoned_log_takes_its_root_offline(self, root: Path, tmp_path: Path) -> None:
        disk = FailingDisk()
        healthy = LogDirectory.open(tmp_path / "other-disk")
        directory = LogDirectory.open(root, filesystem=disk)
        log = directory.create(ORDERS)
        log.append(records(), leader_epoch=0)
        disk.error = errno.EIO
        with pytest.raises(OSError, match="Input/output"):
            log.append(records(), leader_epoch=0)
        directory.run_periodic()
        assert directory.failure is not None
        assert directory.failure.errno == errno.EIO
        assert not directory.partitions
        with pytest.raises(OfflineDirectoryError, match="offline since its disk failed"):
            directory.log(ORDERS)
        with pytest.raises(OfflineDirectoryError):
            directory.create(OTHERS)
        healthy.create(ORDERS).append(records(), leader_epoch=0)
        healthy.close()
        directory.close()
        assert not (root / ".kafka_cleanshutdown").exists()
        with LogDirectory.open(root) as again:
            assert again.log(ORDERS).log_end_offset == 3

    def test_a_full_disk_is_not_a_failed_one(self, root: Path, clock: Clock) -> None:
        disk = FailingDisk()
        directory = LogDirectory.open(root, filesystem=disk, clock=clock)
        log = directory.create(ORDERS)
        disk.error = errno.ENOSPC
        with pytest.raises(OSError, match="No space"):
            log.append(records(), leader_epoch=0)
        clock.now += 60_000
        directory.run_periodic()
        assert directory.failure is None
        disk.error = None
        log.append(records(), leader_epoch=0)
        clock.now += 60_000
        directory.run_periodic()
        assert checkpoint(root, "recovery-point-offset") == {ORDERS: 0}
        directory.close()

    def test_a_checkpoint_that_cannot_be_written_takes_the_root_offline(self, root: Path, clock: Clock) -> None:
        disk = FailingDisk()
        directory = LogDirectory.open(root, filesystem=disk, clock=clock)
        directory.create(ORDERS)
        disk.error = errno.EROFS
        with pytest.raises(OSError, match="Read-only"):
            directory.checkpoint()
        assert directory.failure is not None
        disk.error = None
        with pytest.raises(OfflineDirectoryError):
            directory.checkpoint()
        directory.close()

    def test_a_vanished_directory_is_said_so(self, root: Path) -> None:
        directory = filled(root)
        shutil.rmtree(root)
        with pytest.raises(FileNotFoundError):
            directory.checkpoint()
        with pytest.raises(OfflineDirectoryError, match="No such file"):
            directory.log(ORDERS)
        directory.close()


def test_a_log_is_not_recovered_once_its_directory_is_closed(root: Path) -> None:
    with LogDirectory.open(root) as directory:
        log = directory.create(TopicPartition("orders", 0))
        log.append([Record.of(b"kept")])
    with LogDirectory.open(root) as directory:
        with pytest.raises(LogClosedError, match="the log is closed"):
            log.recover()
        assert directory.log(TopicPartition("orders", 0)).append([Record.of(b"next")]).first_offset == 1


def test_a_forked_child_may_not_write(root: Path) -> None:
    with LogDirectory.open(root) as directory:
        child = os.fork()
        if child == 0:
            try:
                directory.log(ORDERS)
            except DirectoryLockedError:
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_nor_may_it_write_to_a_log_that_it_got_before(root: Path) -> None:
    with filled(root) as directory:
        log = directory.log(ORDERS)
        child = os.fork()
        if child == 0:
            try:
                log.append(records(), leader_epoch=0)
            except LogClosedError:
                directory.run_periodic()
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        log.append(records(), leader_epoch=0)
        assert len(list(log.read(0, 1 << 20).records())) == 6


def test_idle_logs_hold_no_descriptor_and_no_mapping(root: Path) -> None:
    filled(root).close()
    with LogDirectory.open(root) as directory:
        assert isinstance(directory.log(ORDERS), Log)
        assert not [name for name in open_files(root) if not name.endswith(".lock")]


MANY_IN_USE = """
import resource, sys
from logstore import LogDirectory, Record, TopicPartition
resource.setrlimit(resource.RLIMIT_NOFILE, (240, 240))
with LogDirectory.open(sys.argv[1]) as directory:
    for number in range(200):
        log = directory.create(TopicPartition("orders", number))
        log.append([Record.of(b"an order")], leader_epoch=0)
        assert len(list(log.read(0, 1000).records())) == 1
"""


def test_logs_in_use_leave_descriptors_to_the_rest_of_the_program(root: Path) -> None:
    run = subprocess.run([sys.executable, "-c", MANY_IN_USE, root], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    with LogDirectory.open(root) as directory:
        assert len(directory.partitions) == 200


class Heard(LogObserver):
    """Notes what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    def recovered(self, log: Path, report: RecoveryReport) -> None:
        del report
        self.heard.append((log.name, "recovered"))

    def appended(self, log: Path, info: AppendInfo) -> None:
        del info
        self.heard.append((log.name, "appended"))

    def truncated(self, log: Path, log_end_offset: int, bytes_removed: int) -> None:
        del log_end_offset, bytes_removed
        self.heard.append((log.name, "truncated"))


class TestObserving:
    def test_an_observer_hears_of_all_logs(self, root: Path) -> None:
        filled(root).close()
        observer = Heard()
        with LogDirectory.open(root, observer=observer) as directory:
            directory.log(OTHERS).append(records(), leader_epoch=0)
            directory.create(TopicPartition("new", 0)).append(records(), leader_epoch=0)
        assert observer.heard == [
            ("orders-0", "recovered"),
            ("orders-1", "recovered"),
            ("orders-1", "appended"),
            ("new-0", "recovered"),
            ("new-0", "appended"),
        ]

    def test_it_hears_of_compacted_logs_whose_cleaner_s_checkpoint_is_taken_back_too(self, root: Path) -> None:
        directory = filled(root)
        for _ in range(2):
            directory.log(ORDERS).roll()
            directory.log(ORDERS).append(records(), leader_epoch=0)
        directory.close()
        OffsetCheckpoint({ORDERS: 3}).write(root / "cleaner-offset-checkpoint")
        observer = Heard()
        with LogDirectory.open(root, observer=observer) as directory:
            directory.log(ORDERS).truncate_to(1)
        assert ("orders-0", "truncated") in observer.heard
        assert checkpoint(root, "cleaner-offset") == {ORDERS: 1}


class TestTheThread:
    SETTINGS = DirectorySettings(replica_high_watermark_checkpoint_interval_ms=10)

    def test_there_is_none_unless_asked_for(self, root: Path) -> None:
        threads = set(threading.enumerate())
        with LogDirectory.open(root):
            assert set(threading.enumerate()) <= threads  # those of earlier tests may end meanwhile

    @pytest.mark.parametrize("leave", [LogDirectory.close, LogDirectory.abandon])
    def test_it_does_what_is_due_until_the_directory_is_left(
        self, root: Path, leave: Callable[[LogDirectory], None]
    ) -> None:
        threads = set(threading.enumerate())
        directory = LogDirectory.open(root, settings=self.SETTINGS, periodic=True)
        log = directory.create(ORDERS)
        log.append(records(), leader_epoch=0)
        log.update_high_watermark(2)
        wait_for((root / "replication-offset-checkpoint").exists)
        wait_for(lambda: checkpoint(root, "replication-offset") == {ORDERS: 2})
        leave(directory)
        assert set(threading.enumerate()) <= threads  # those of earlier tests may end meanwhile

    def test_it_goes_on_when_a_log_was_closed_by_hand(self, root: Path) -> None:
        settings = DirectorySettings(log_flush_scheduler_interval_ms=10, log_retention_check_interval_ms=10)
        config = LogConfig(flush_ms=0)
        with LogDirectory.open(root, config, settings=settings, periodic=True) as directory:
            directory.create(ORDERS).close()
            log = directory.create(OTHERS)
            log.append(records(), leader_epoch=0)
            wait_for(lambda: log.recovery_point == 3)

    def test_a_disk_that_fails_meanwhile_takes_the_root_offline(self, root: Path) -> None:
        disk = FailingDisk()
        with LogDirectory.open(root, filesystem=disk, settings=self.SETTINGS, periodic=True) as directory:
            directory.create(ORDERS)
            disk.error = errno.EIO
            wait_for(lambda: directory.failure is not None)


def wait_for(condition: Callable[[], bool]) -> None:
    """Give another thread time, and not for ever."""
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_a_log_that_was_broken_off_takes_no_other_offline_and_leaves_no_mark_of_an_orderly_stop(root: Path) -> None:
    directory = filled(root)
    other = directory.create(TopicPartition("others", 1))
    log = directory.log(ORDERS)
    log._guard.poison(LogPoisonedError("a call was interrupted"))
    directory.run_periodic()
    assert directory.failure is None
    other.append(records(), leader_epoch=0)
    recovered = directory.recover(ORDERS)
    assert directory.log(ORDERS) is recovered
    recovered.append(records(), leader_epoch=0)
    recovered._guard.poison(LogPoisonedError("a call was interrupted"))
    directory.close()
    assert other.is_complete
    assert not (root / ".kafka_cleanshutdown").exists()
    with LogDirectory.open(root) as again:
        assert again.log(ORDERS).log_end_offset == recovered.log_end_offset
    assert (root / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize("is_poisoned", [False, True])
def test_a_log_is_recovered_by_its_directory_alone(root: Path, is_poisoned: bool) -> None:
    with filled(root) as directory:
        log = directory.log(ORDERS)
        if is_poisoned:
            log._guard.poison(LogPoisonedError("a call was interrupted"))
        with pytest.raises(DirectoryLockedError, match=r"`log = directory.recover\(TopicPartition\(.*'orders'"):
            log.recover()
        assert directory.log(ORDERS) is log
        assert (log.failure is not None) == is_poisoned
        recovered = directory.recover(ORDERS)
        recovered.append(records(), leader_epoch=0)
        for stale in (log.recover, lambda: log.append(records(), leader_epoch=0)):
            with pytest.raises(LogClosedError, match="the log is closed; use the log that replaced it"):
                stale()
    assert checkpoint(root, "recovery-point-offset")[ORDERS] == recovered.log_end_offset
    with pytest.raises(LogClosedError):
        recovered.append(records(), leader_epoch=0)


def test_what_a_poisoned_log_of_a_directory_advises_can_be_done_word_for_word(root: Path) -> None:
    with filled(root) as directory:
        log = directory.log(ORDERS)
        log._guard.poison(LogPoisonedError("a call was interrupted"))
        with pytest.raises(LogPoisonedError) as refused:
            log.roll()
        (advised,) = re.findall(r"`log = (directory\.recover\(.*\))`", str(refused.value))
        recovered = eval(advised, {"directory": directory, "TopicPartition": TopicPartition})  # noqa: S307  our own
        assert recovered is directory.log(ORDERS)
        recovered.roll()


def test_threads_that_recover_the_same_log_are_left_with_one(root: Path) -> None:
    with filled(root) as directory:
        with ThreadPoolExecutor(4) as threads:
            logs = [each.result() for each in [threads.submit(directory.recover, ORDERS) for _ in range(8)]]
        (kept,) = {log for log in logs if log is directory.log(ORDERS)}
        for log in logs:
            if log is not kept:
                with pytest.raises(LogClosedError):
                    log.append(records(), leader_epoch=0)


def test_a_log_that_was_abandoned_leaves_no_mark_of_an_orderly_stop(root: Path) -> None:
    directory = filled(root)
    directory.log(ORDERS).abandon()
    directory.close()
    assert not (root / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize("comes_back", [False, True])
def test_a_log_that_was_deleted_is_not_recovered(tmp_path: Path, comes_back: bool) -> None:
    partition = TopicPartition("t", 0)
    with LogDirectory.open(tmp_path / "root") as directory:
        log = directory.create(partition)
        log.append([Record.of(b"value")])
        directory.delete(partition)
        if comes_back:
            directory.create(partition).append([Record.of(b"another")])
        with pytest.raises(LogClosedError, match="t-0: the log is closed"):
            log.recover()
        assert (tmp_path / "root" / "t-0").exists() == comes_back
        assert len(directory.partitions) == comes_back
    with LogDirectory.open(tmp_path / "root") as directory:
        assert len(directory.partitions) == comes_back


def test_a_log_whose_directory_is_gone_is_not_recovered(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0")
    log.directory.rename(tmp_path / "elsewhere")
    with pytest.raises(LogClosedError, match="there is nothing to recover"):
        log.recover()
    assert not log.directory.exists()


class TestAppendsToSeveralPartitions:
    def fetched(self, offset: int) -> bytes:
        return bytes(encode_batch(records(), BatchTemplate(base_offset=offset, leader_epoch=0)))

    def test_each_gets_its_batches(self, root: Path) -> None:
        with filled(root) as directory:
            done = directory.append_batches({ORDERS: self.fetched(3), OTHERS: self.fetched(3) + self.fetched(6)})
            assert {partition: result.last_offset for partition, result in done.items() if appended(result)} == {
                ORDERS: 5,
                OTHERS: 8,
            }
            for partition, end in (ORDERS, 6), (OTHERS, 9):
                log = directory.log(partition)
                assert log.log_end_offset == end
                assert [record.offset for record in log.records(0)] == list(range(end))

    def test_one_that_refuses_keeps_no_other_from_its_batches(self, root: Path) -> None:
        unknown = TopicPartition("unknown", 0)
        broken = bytearray(self.fetched(3))
        broken[-1] ^= 1
        with filled(root) as directory:
            done = directory.append_batches({unknown: self.fetched(0), ORDERS: broken, OTHERS: self.fetched(3)})
            assert list(done) == [unknown, ORDERS, OTHERS]
            assert isinstance(done[unknown], UnknownPartitionError)
            assert isinstance(done[ORDERS], CorruptBatchError)
            assert appended(done[OTHERS])
            assert (directory.log(ORDERS).log_end_offset, directory.log(OTHERS).log_end_offset) == (3, 6)

    def test_one_whose_disk_fails_keeps_no_other_from_its_batches(self, root: Path) -> None:
        class Fails(FailingDisk):
            """Below one partition."""

            def write(self, descriptor: int, data: bytes | memoryview) -> None:
                if f"/{ORDERS}/" in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
                    self._step()
                super(FailingDisk, self).write(descriptor, data)

        filled(root).close()
        disk = Fails()
        with LogDirectory.open(root, replicated=True, filesystem=disk) as directory:
            disk.error = errno.EIO
            done = directory.append_batches({ORDERS: self.fetched(3), OTHERS: self.fetched(3)})
            assert isinstance(done[ORDERS], OSError)
            assert appended(done[OTHERS])
            directory.abandon()

    def test_what_was_fetched_from_an_older_leader_ends_before_the_batches_of_a_newer_one(self, root: Path) -> None:
        newer = bytes(encode_batch(records(), BatchTemplate(base_offset=6, leader_epoch=2)))
        with filled(root) as directory:
            fetched = self.fetched(3) + newer
            directory.append_batches({ORDERS: fetched, OTHERS: fetched}, leader_epochs={ORDERS: 1})
            assert (directory.log(ORDERS).log_end_offset, directory.log(OTHERS).log_end_offset) == (6, 9)

    def test_none_is_appended_to_once_the_directory_is_closed(self, root: Path) -> None:
        directory = filled(root)
        directory.close()
        with pytest.raises(DirectoryLockedError):
            directory.append_batches({ORDERS: self.fetched(3)})


def appended(result: AppendInfo | LogStoreError | OSError) -> TypeGuard[AppendInfo]:
    return isinstance(result, AppendInfo)
