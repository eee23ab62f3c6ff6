"""A copy of another root's partition is made, goes on after a restart, takes the log's place, or is given up."""

import errno
from pathlib import Path
from uuid import UUID

import pytest

from epoch.filesystem import FileSystem
from logstore.batch.batch_template import BatchTemplate
from logstore.directory.log_directory import LogDirectory
from logstore.directory.log_opener import LogOpener
from logstore.errors import CorruptMetadataError, PartitionExistsError, UnknownPartitionError
from logstore.files.partition_metadata import PartitionMetadata
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.topic_partition import DirectoryMark, TopicPartition, parse_directory_name

ORDERS = TopicPartition("orders", 0)
TOPIC, OTHER = UUID(int=7), UUID(int=8)
CONFIG = LogConfig(file_delete_delay_ms=0)
CLEAN = ".kafka_cleanshutdown"


def marks(root: Path) -> list[DirectoryMark]:
    return sorted((parse_directory_name(each.name).mark for each in root.glob("orders-*")), key=lambda mark: mark.name)


def values(log: Log) -> list[bytes | None]:
    return [each.value for each in log.records()]


def test_a_copy_is_no_partition_of_its_root_until_it_takes_its_place(tmp_path: Path) -> None:
    with LogDirectory.open(tmp_path) as directory:
        copy = directory.futures.open(ORDERS, TOPIC)
        assert directory.futures.open(ORDERS, TOPIC) is copy
        copy.append([b"one", b"two"], leader_epoch=4)
        copy.update_high_watermark(2)
        copy.delete_records(1)
        assert (ORDERS in directory.partitions, ORDERS in directory.futures.logs) == (False, True)
        log = directory.futures.promote(ORDERS)
        assert directory.log(ORDERS) is log
        assert not directory.futures.logs
        assert (log.log_start_offset, log.high_watermark, log.epochs.latest_epoch) == (1, 2, 4)
        assert PartitionMetadata.of(log.directory) == PartitionMetadata(TOPIC)
        assert log.append([b"three"]).first_offset == 2
    with LogDirectory.open(tmp_path) as again:
        assert (again.log(ORDERS).log_start_offset, values(again.log(ORDERS))) == (1, [b"two", b"three"])


@pytest.mark.parametrize("is_crash", [False, True], ids=["closed", "crashed"])
def test_a_copy_goes_on_after_a_restart(tmp_path: Path, is_crash: bool) -> None:
    directory = LogDirectory.open(tmp_path)
    copy = directory.futures.open(ORDERS, TOPIC)
    copy.append([b"one", b"two"])
    copy.update_high_watermark(2)
    copy.delete_records(1)
    directory.checkpoint()
    directory.abandon() if is_crash else directory.close()
    assert (tmp_path / CLEAN).exists() != is_crash
    with LogDirectory.open(tmp_path) as again:
        assert list(again.futures.found) == [ORDERS]
        copy = again.futures.open(ORDERS, TOPIC)
        assert (values(copy), copy.log_start_offset) == ([b"two"], 1)
        assert not again.futures.found
    assert (tmp_path / CLEAN).exists()


def test_after_a_crash_a_copy_that_nobody_has_looked_at_is_recovered_by_the_start_that_does(tmp_path: Path) -> None:
    directory = LogDirectory.open(tmp_path)
    directory.futures.open(ORDERS, TOPIC).append([b"one"], template=BatchTemplate())
    directory.abandon()
    (segment,) = tmp_path.glob("orders-*/*.log")
    segment.write_bytes(segment.read_bytes() + b"torn")
    LogDirectory.open(tmp_path).close()
    assert not (tmp_path / CLEAN).exists()
    with LogDirectory.open(tmp_path) as again:
        assert values(again.futures.open(ORDERS, TOPIC)) == [b"one"]
    assert not segment.read_bytes().endswith(b"torn")


def test_a_copy_of_another_topic_is_removed_and_an_empty_one_is_made(tmp_path: Path) -> None:
    with LogDirectory.open(tmp_path, CONFIG) as directory:
        directory.futures.open(ORDERS, OTHER).append([b"earlier"])
    with LogDirectory.open(tmp_path, CONFIG) as directory:
        copy = directory.futures.open(ORDERS, TOPIC)
        assert copy.log_end_offset == 0
        assert marks(tmp_path) == [DirectoryMark.DELETE, DirectoryMark.FUTURE]
        directory.run_periodic()
        assert marks(tmp_path) == [DirectoryMark.FUTURE]


@pytest.mark.parametrize("is_open", [True, False])
def test_a_copy_that_is_given_up_is_removed_and_the_partition_may_come_to_be_here(
    tmp_path: Path, is_open: bool
) -> None:
    directory = LogDirectory.open(tmp_path, CONFIG)
    copy = directory.futures.open(ORDERS, TOPIC)
    copy.append([b"one"])
    if not is_open:
        directory.close()
        directory = LogDirectory.open(tmp_path, CONFIG)
    directory.futures.delete(ORDERS)
    assert marks(tmp_path) == [DirectoryMark.DELETE]
    directory.futures.delete(ORDERS)
    assert directory.create(ORDERS).log_end_offset == 0
    directory.abandon()
    with LogDirectory.open(tmp_path, CONFIG) as again:
        assert again.log(ORDERS).log_end_offset == 0


def test_where_the_partition_is_there_can_be_no_copy_of_it(tmp_path: Path) -> None:
    with LogDirectory.open(tmp_path) as directory:
        directory.create(ORDERS)
        with pytest.raises(PartitionExistsError):
            directory.futures.open(ORDERS, TOPIC)
        with pytest.raises(UnknownPartitionError):
            directory.futures.promote(ORDERS)


class BreaksAfterRename(FileSystem):
    """Fails to sync the directory, or to rename once more, after something took the place of `orders-0`."""

    def __init__(self) -> None:
        self.sync_failures: list[OSError] = []
        self.rename_failures: list[OSError] = []
        self._is_renamed = False

    def rename(self, source: Path, target: Path) -> None:
        if self._is_renamed and self.rename_failures:
            raise self.rename_failures.pop()
        super().rename(source, target)
        self._is_renamed |= target.name == "orders-0"

    def fsync_directory(self, path: Path) -> None:
        if self._is_renamed and self.sync_failures:
            raise self.sync_failures.pop()
        super().fsync_directory(path)


@pytest.fixture
def disk() -> BreaksAfterRename:
    return BreaksAfterRename()


FULL, OPEN_FILES = OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EMFILE, "Too many open files")


@pytest.mark.parametrize(
    ("at", "error"),
    [
        ("sync", FULL),
        ("sync", OPEN_FILES),
        ("open", OPEN_FILES),
        ("open", CorruptMetadataError("the topic id is zero")),
    ],
)
def test_what_cannot_be_the_log_after_its_rename_is_a_copy_again(
    tmp_path: Path, disk: BreaksAfterRename, monkeypatch: pytest.MonkeyPatch, at: str, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    with LogDirectory.open(tmp_path, filesystem=disk) as directory:
        directory.futures.open(ORDERS, TOPIC).append([b"one"])
        if at == "sync":
            assert isinstance(error, OSError)
            disk.sync_failures = [error]
        else:
            monkeypatch.setattr(LogOpener, "open", fail)
        with pytest.raises(type(error)):
            directory.futures.promote(ORDERS)
        monkeypatch.undo()
        assert (directory.failure, marks(tmp_path), dict(directory.partitions)) == (None, [DirectoryMark.FUTURE], {})
        copy = directory.futures.open(ORDERS, TOPIC)
        assert values(copy) == [b"one"]
        copy.append([b"two"])
        assert values(directory.futures.promote(ORDERS)) == [b"one", b"two"]
    with LogDirectory.open(tmp_path) as again:
        assert values(again.log(ORDERS)) == [b"one", b"two"]


@pytest.mark.parametrize("at", ["rename", "sync"])
def test_a_root_where_a_log_that_nobody_knows_would_stay_is_offline(
    tmp_path: Path, disk: BreaksAfterRename, at: str
) -> None:
    with LogDirectory.open(tmp_path, filesystem=disk) as directory:
        directory.futures.open(ORDERS, TOPIC).append([b"one"])
        if at == "rename":
            disk.rename_failures = [OPEN_FILES]
        disk.sync_failures = [FULL, FULL]
        with pytest.raises(OSError, match=r"Too many open files|No space left"):
            directory.futures.promote(ORDERS)
        assert directory.failure is not None
        assert not directory.futures.logs
