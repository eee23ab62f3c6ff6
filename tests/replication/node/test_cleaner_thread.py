"""A broker compacts what is due in its log.dirs by itself, as long as it runs, whatever becomes of one of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from logstore import LogDirectory, TopicPartition
from logstore.batch.record import Record
from logstore.directory.directory_settings import DirectorySettings
from logstore.directory.log_directories import LogDirectories
from logstore.log_config import LogConfig
from replication.node.cleaner_thread import CleanerThread
from tests.replication.waiting import wait_until

COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=500)
PARTITION = TopicPartition("balances", 0)
DELETED = TopicPartition("orders", 0)
WRITES = 40


@pytest.fixture
def directories(tmp_path: Path) -> Iterator[LogDirectories]:
    with LogDirectories.open(
        [tmp_path / "a", tmp_path / "b"],
        lambda partition: LogConfig(segment_bytes=500) if partition == DELETED else COMPACTED,
        settings=DirectorySettings(log_cleaner_backoff_ms=10),
    ) as directories:
        yield directories


@pytest.fixture
def cleaner(directories: LogDirectories) -> Iterator[CleanerThread]:
    cleaner = CleanerThread(directories)
    cleaner.start()
    yield cleaner
    assert cleaner.failure is None
    cleaner.stop()


def write(root: LogDirectory, partition: TopicPartition) -> None:
    log = root.partitions.get(partition) or root.create(partition)
    for number in range(WRITES):
        log.append([Record.of(b"value %d" % number, b"key")])
    log.update_high_watermark(log.log_end_offset)


def count(root: LogDirectory, partition: TopicPartition) -> int:
    found, offset = 0, 0
    while batches := list(root.log(partition).read(offset, 1 << 20).batches()):
        found += sum(len(list(batch.records())) for batch in batches)
        offset = batches[-1].last_offset + 1
    return found


@pytest.mark.usefixtures("cleaner")
def test_each_directory_is_compacted_again_and_again(directories: LogDirectories) -> None:
    for _ in range(2):
        for root in directories.roots:
            write(root, PARTITION)
        for root in directories.roots:
            wait_until(lambda root=root: count(root, PARTITION) < WRITES // 2, f"{root} is compacted")


@pytest.mark.usefixtures("cleaner")
def test_what_is_not_compacted_is_left_as_it_is(directories: LogDirectories) -> None:
    root = directories.roots[0]
    write(root, DELETED)
    write(root, PARTITION)
    wait_until(lambda: count(root, PARTITION) < WRITES // 2, "the other is compacted")
    assert count(root, DELETED) == WRITES


@pytest.mark.usefixtures("cleaner")
def test_a_directory_that_cannot_be_compacted_holds_up_no_other(
    directories: LogDirectories, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, sound = directories.roots

    def fail() -> None:
        raise OSError("no space left")

    monkeypatch.setattr(broken, "compact", fail)
    write(sound, PARTITION)
    wait_until(lambda: count(sound, PARTITION) < WRITES // 2, "the other is compacted")
    assert directories.offline == {}
