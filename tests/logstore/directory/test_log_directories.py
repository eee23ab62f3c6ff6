"""Several roots are used as one, and one failed disk takes only its own partitions offline."""

import errno
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread, main_thread
from time import sleep
from uuid import uuid4

import pytest

from epoch.filesystem import FileSystem
from logstore.batch.record import Record
from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.errors import (
    DirectoryLockedError,
    DuplicatePartitionError,
    OfflineDirectoryError,
    PartitionExistsError,
    UnknownPartitionError,
)
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT, RECOVERY_POINT_CHECKPOINT
from logstore.log_config import LogConfig
from logstore.topic_partition import TopicPartition

PARTITIONS = [TopicPartition("orders", number) for number in range(4)]
SECONDS = 30


class OneFailingDisk(FileSystem):
    """All below `failing` cannot be written."""

    failing: Path | None = None

    def open(self, path: Path, *, truncate: bool = False) -> int:
        if self.failing is not None and path.is_relative_to(self.failing):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().open(path, truncate=truncate)


def roots(tmp_path: Path) -> list[Path]:
    return [tmp_path / "disk-1", tmp_path / "disk-2"]


def whole_roots(tmp_path: Path) -> list[Path]:
    """Return new roots of which somebody has said that they lack nothing."""
    with LogDirectories.open(roots(tmp_path)) as directories:
        for root in directories.roots:
            root.miss({})
    return roots(tmp_path)


def test_partitions_are_spread_and_found_again(tmp_path: Path) -> None:
    with LogDirectories.open(roots(tmp_path)) as directories:
        for partition in PARTITIONS:
            directories.create(partition).append([Record(0, 0, None, b"v")], leader_epoch=0)
        assert [len(root.partitions) for root in directories.roots] == [2, 2]
        with pytest.raises(PartitionExistsError):
            directories.create(PARTITIONS[0])
    with LogDirectories.open(roots(tmp_path)) as directories:
        assert [directories.log(each).log_end_offset for each in PARTITIONS] == [1, 1, 1, 1]
        directories.delete(PARTITIONS[3])
        with pytest.raises(UnknownPartitionError):
            directories.log(PARTITIONS[3])


def test_the_brokers_epoch_is_known_where_all_roots_were_closed_in_order_after_it(tmp_path: Path) -> None:
    with LogDirectories.open(whole_roots(tmp_path)) as directories:
        assert directories.broker_epoch == -1
        directories.broker_epoch = 7
    with LogDirectories.open(roots(tmp_path)) as directories:
        assert directories.broker_epoch == 7
        directories.roots[0].broker_epoch = 8
    directories = LogDirectories.open(roots(tmp_path))
    assert directories.broker_epoch == -1, "one root says otherwise"
    directories.broker_epoch = 9
    directories.roots[1].abandon()
    directories.roots[0].close()
    with LogDirectories.open(roots(tmp_path)) as directories:
        assert directories.broker_epoch == -1, "one root was not closed in order"


def test_it_is_not_known_before_somebody_has_said_that_new_roots_lack_nothing(tmp_path: Path) -> None:
    with LogDirectories.open(roots(tmp_path)) as directories:
        directories.broker_epoch = 7
    with LogDirectories.open(whole_roots(tmp_path)) as directories:
        assert directories.broker_epoch == -1
        directories.broker_epoch = 8
    with LogDirectories.open(roots(tmp_path)) as directories:
        assert directories.broker_epoch == 8


def test_the_brokers_epoch_is_not_known_while_a_root_is_offline(tmp_path: Path) -> None:
    with LogDirectories.open(roots(tmp_path)) as directories:
        directories.broker_epoch = 7
    shutil.rmtree(tmp_path / "disk-2")
    (tmp_path / "disk-2").write_bytes(b"no directory")
    with LogDirectories.open(roots(tmp_path)) as directories:
        assert directories.offline
        assert directories.broker_epoch == -1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (RECOVERY_POINT_CHECKPOINT, None),
        (RECOVERY_POINT_CHECKPOINT, b"0\n1\n"),
        (HIGH_WATERMARK_CHECKPOINT, b"0\nx\n"),
    ],
)
def test_it_is_not_known_where_nothing_says_how_far_logs_reached(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    with LogDirectories.open(whole_roots(tmp_path)) as directories:
        directories.broker_epoch = 7
    path = tmp_path / "disk-1" / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with LogDirectories.open(roots(tmp_path)) as directories:
        assert directories.broker_epoch == -1


def test_many_that_are_made_at_once_are_spread_too(tmp_path: Path) -> None:
    with LogDirectories.open(roots(tmp_path)) as directories:
        directories.create(PARTITIONS[0])
        directories.create_many({partition: uuid4() for partition in PARTITIONS[1:]})
        assert [len(root.partitions) for root in directories.roots] == [2, 2]
        assert all(directories.get(partition) is directories.log(partition) for partition in PARTITIONS)
        assert directories.get(TopicPartition("orders", 9)) is None
        with pytest.raises(PartitionExistsError, match="orders-3"):
            directories.create_many({TopicPartition("new", 0): None, PARTITIONS[3]: None})
        directories.create(TopicPartition("new", 0))


def test_a_failed_disk_takes_only_its_own_partitions_offline(tmp_path: Path) -> None:
    disk = OneFailingDisk()
    directories = LogDirectories.open(roots(tmp_path), filesystem=disk)
    for partition in PARTITIONS:
        directories.create(partition)
    disk.failing = tmp_path / "disk-2"
    with pytest.raises(OSError, match="Input/output"):
        directories.roots[1].checkpoint()
    directories.run_periodic()
    assert set(directories.offline) == {tmp_path / "disk-2"}
    assert set(directories.partitions) == set(PARTITIONS[::2])
    directories.log(PARTITIONS[0]).append([Record(0, 0, None, b"v")], leader_epoch=0)
    with pytest.raises(OfflineDirectoryError, match="disk-2"):
        directories.log(PARTITIONS[1])
    directories.create(TopicPartition("new", 0))
    directories.close()
    assert (tmp_path / "disk-1/.kafka_cleanshutdown").exists()
    assert not (tmp_path / "disk-2/.kafka_cleanshutdown").exists()


def test_a_disk_that_cannot_be_opened_is_offline_from_the_beginning(tmp_path: Path) -> None:
    (tmp_path / "disk-2").write_bytes(b"no directory")
    directories = LogDirectories.open(roots(tmp_path))
    assert set(directories.offline) == {tmp_path / "disk-2"}
    directories.create(PARTITIONS[0])
    directories.close()


def test_a_locked_root_is_an_error_and_leaves_the_others_free(tmp_path: Path) -> None:
    with LogDirectory.open(tmp_path / "disk-2"), pytest.raises(DirectoryLockedError):
        LogDirectories.open(roots(tmp_path))
    LogDirectories.open(roots(tmp_path)).close()


def test_one_partition_in_two_roots_is_an_error_and_leaves_both_free(tmp_path: Path) -> None:
    for root in roots(tmp_path):
        with LogDirectory.open(root) as directory:
            directory.create(PARTITIONS[0])
    with pytest.raises(DuplicatePartitionError) as raised:
        LogDirectories.open(roots(tmp_path))
    assert all(str(root / "orders-0") in str(raised.value) for root in roots(tmp_path))
    for root in roots(tmp_path):
        LogDirectory.open(root).close()


def test_the_copy_of_a_move_between_roots_is_no_duplicate(tmp_path: Path) -> None:
    here, there = roots(tmp_path)
    with LogDirectory.open(here) as directory:
        directory.create(PARTITIONS[0])
    (there / "orders-0.0123456789abcdef0123456789abcdef-future").mkdir(parents=True)
    with LogDirectories.open([here, there]) as directories:
        assert list(directories.partitions) == [PARTITIONS[0]]


def test_whatever_is_raised_while_roots_are_opened_leaves_all_of_them_free(tmp_path: Path) -> None:
    is_open = Event()

    def interrupt(directory: LogDirectory) -> None:
        if directory.root == roots(tmp_path)[0]:
            signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)
            is_open.wait(0.2)

    with pytest.raises(KeyboardInterrupt):
        LogDirectories.open(roots(tmp_path), made=interrupt)
    for root in roots(tmp_path):
        LogDirectory.open(root).close()


@pytest.mark.parametrize("number", range(2))
def test_a_root_whose_thread_was_interrupted_as_it_started_is_free_again(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a signal does between the start of a thread and its entry in the executor's list of threads.
    start = Thread.start
    started: list[Thread] = []

    def interrupted(thread: Thread) -> None:
        start(thread)
        started.append(thread)
        if len(started) == number + 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        LogDirectories.open(roots(tmp_path), made=lambda _: sleep(0.05))
    monkeypatch.undo()
    for root in roots(tmp_path):
        LogDirectory.open(root).close()


def test_a_partition_that_two_threads_make_at_once_is_in_one_root(tmp_path: Path) -> None:
    partition = PARTITIONS[0]
    is_making, other_is_through = Event(), Event()

    def config_of(_: TopicPartition) -> LogConfig:
        is_making.set()
        assert other_is_through.wait(SECONDS)
        return LogConfig()

    with LogDirectories.open(roots(tmp_path), config_of) as directories, ThreadPoolExecutor(1) as thread:
        made = thread.submit(directories.create, partition)
        assert is_making.wait(SECONDS)
        with pytest.raises(PartitionExistsError, match="another call is creating the partition orders-0"):
            directories.create(partition)
        other_is_through.set()
        assert made.result() is directories.log(partition)
        with pytest.raises(PartitionExistsError, match="the partition orders-0 already exists"):
            directories.create(partition)
