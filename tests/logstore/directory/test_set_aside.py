"""A partition that is not its broker's any more is set aside: kept, named, and in nobody's way."""

from pathlib import Path

import pytest

from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.errors import DuplicatePartitionError, UnknownPartitionError
from logstore.files.offset_checkpoint import OFFSET_CHECKPOINTS, OffsetCheckpoint
from logstore.log.log import Log
from logstore.topic_partition import DirectoryMark, TopicPartition, parse_directory_name

ORDERS = TopicPartition("orders", 0)


def test_it_is_renamed_with_all_that_it_holds(tmp_path: Path) -> None:
    with LogDirectory.open(tmp_path) as directory:
        directory.create(ORDERS).append([b"kept"])
        path = directory.set_aside_stray(ORDERS)
        assert parse_directory_name(path.name) == (ORDERS, DirectoryMark.STRAY)
        assert directory.set_aside == {path.name: DirectoryMark.STRAY}
        assert not directory.partitions
        with pytest.raises(UnknownPartitionError):
            directory.log(ORDERS)
    with Log.open(path) as log:
        assert [each.value for each in log.records()] == [b"kept"]


@pytest.mark.parametrize("is_reopened", [False, True])
def test_another_takes_its_place_of_which_the_checkpoints_say_nothing_from_before(
    tmp_path: Path, is_reopened: bool
) -> None:
    directory = LogDirectory.open(tmp_path)
    log = directory.create(ORDERS)
    log.append([b"one", b"two"])
    log.update_high_watermark(2)
    directory.checkpoint_high_watermarks()
    directory.set_aside_stray(ORDERS)
    if is_reopened:
        directory.close()
        directory = LogDirectory.open(tmp_path)
    directory.create(ORDERS)
    for name in OFFSET_CHECKPOINTS:
        assert ORDERS not in OffsetCheckpoint.read(tmp_path / name) if (tmp_path / name).exists() else True
    directory.abandon()
    with LogDirectory.open(tmp_path) as again:
        assert again.log(ORDERS).log_end_offset == 0


def test_after_a_crash_a_directory_with_one_is_closed_in_order_again(tmp_path: Path) -> None:
    directory = LogDirectory.open(tmp_path)
    directory.create(ORDERS)
    directory.set_aside_stray(ORDERS)
    directory.abandon()
    LogDirectory.open(tmp_path).close()
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_one_of_two_directories_of_a_partition_is_set_aside_by_who_knows_which(tmp_path: Path) -> None:
    roots = [tmp_path / "one", tmp_path / "other"]
    for root in roots:
        with LogDirectory.open(root) as directory:
            directory.create(ORDERS)
    with pytest.raises(DuplicatePartitionError):
        LogDirectories.open(roots)
    with LogDirectories.open(roots, duplicates=True) as directories:
        with pytest.raises(DuplicatePartitionError):
            directories.ensure_no_duplicates()
        directories.roots[0].set_aside_stray(ORDERS)
        directories.ensure_no_duplicates()
        assert directories.log(ORDERS).directory.parent == roots[1]
