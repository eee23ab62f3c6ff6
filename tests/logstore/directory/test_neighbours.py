"""A root that is put back as it was earlier is short of what the broker's other roots have kept of it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from logstore.directory.log_directories import LogDirectories
from logstore.errors import CorruptMetadataError
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.broker.other_roots import OTHER_ROOTS_NAME, OtherRoots
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, CleanShutdown
from logstore.files.meta_properties import MetaProperties
from logstore.files.partition_metadata import format_uuid
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.topic_partition import TopicPartition
from logstore.verify import verify

Change = Callable[[list[Path]], None]
OLDER, OTHER, NEW = (TopicPartition("orders", number) for number in range(3))
TOPIC_ID = UUID(int=9)
EPOCH = 7
"""Of the broker's last start; that before was one less."""


def opened(roots: list[Path]) -> LogDirectories:
    return LogDirectories.open(roots, replicated=True, damage="hold")


def append(directories: LogDirectories, partition: TopicPartition) -> None:
    log = directories.log(partition)
    log.append([b"paid"] * 5, leader_epoch=0)
    log.update_high_watermark(log.log_end_offset)


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    """Two roots after two starts, each stopped in order, and a copy of the first root from between."""
    roots = [tmp_path / "disk-0", tmp_path / "disk-1"]
    for number, root in enumerate(roots):
        root.mkdir()
        directory_id = format_uuid(UUID(int=1_000 + number))
        MetaProperties(1, "cluster", 1, directory_id).write(root / META_PROPERTIES_NAME)
    with opened(roots) as directories:
        for partition in (OLDER, OTHER):
            directories.create(partition, topic_id=TOPIC_ID)
            append(directories, partition)
        directories.broker_epoch = EPOCH - 1
    shutil.copytree(roots[0], tmp_path / "older")
    with opened(roots) as directories:
        directories.create(NEW, topic_id=TOPIC_ID)
        for partition in (OLDER, OTHER, NEW):
            append(directories, partition)
        directories.broker_epoch = EPOCH
    return roots


def put_back(roots: list[Path]) -> None:
    """With the marker of its own stop in order."""
    root = roots[0]
    shutil.rmtree(root)
    shutil.copytree(root.parent / "older", root)


def put_back_with_the_marker(roots: list[Path]) -> None:
    """As if it were of the last stop."""
    put_back(roots)
    CleanShutdown(EPOCH).write(roots[0] / CLEAN_SHUTDOWN_NAME)


def put_back_without_marker(roots: list[Path]) -> None:
    put_back(roots)
    (roots[0] / CLEAN_SHUTDOWN_NAME).unlink()


@pytest.mark.parametrize("change", [put_back, put_back_with_the_marker, put_back_without_marker])
def test_an_older_root_lacks_what_the_other_one_has_kept_of_it(roots: list[Path], change: Change) -> None:
    held = {path.name for path in roots[0].glob("orders-*")}
    change(roots)
    for _ in range(2):
        with opened(roots) as directories:
            assert {str(partition) for partition in directories.shortfalls} == held
            assert directories.shortfalls[OLDER].claims.end == 10
            assert directories.shortfalls[OLDER].log_end_offset == 5
            assert directories.shortfalls[OLDER].lacks_flushed
            assert directories.shortfalls[NEW].is_gone
    with opened(roots) as directories:
        for partition in (OLDER, NEW):
            directories.settle(partition)
    with opened(roots) as directories:
        assert not [str(each) for each in directories.shortfalls.values()]


def test_roots_that_are_as_they_were_lack_nothing(roots: list[Path]) -> None:
    for _ in range(2):
        with opened(roots) as directories:
            assert not [str(each) for each in directories.shortfalls.values()]
            directories.broker_epoch = EPOCH
    for root in roots:
        assert not list(verify(OfflineLogDirectory.open(root)))


def cut_as_kafka_has_stopped(roots: list[Path]) -> None:
    """What was kept is of an earlier stop than the roots are: others may have led meanwhile, and cut the log."""
    with opened(roots) as directories:
        directories.log(OLDER).truncate_to(5)
        for root in directories.roots:
            root.broker_epoch = EPOCH + 1
            root.close()


def kill(roots: list[Path]) -> None:
    directories = opened(roots)
    directories.log(OLDER).truncate_to(5)
    for root in directories.roots:
        root.checkpoint()
        root.checkpoint_high_watermarks()
    directories.abandon()


def replace_disk(roots: list[Path]) -> None:
    shutil.rmtree(roots[0])
    roots[0].mkdir()
    MetaProperties(1, "cluster", 1, format_uuid(UUID(int=2_000))).write(roots[0] / META_PROPERTIES_NAME)


def move_a_partition(roots: list[Path]) -> None:
    (roots[0] / str(OLDER)).rename(roots[1] / str(OLDER))


@pytest.mark.parametrize("change", [cut_as_kafka_has_stopped, kill, replace_disk, move_a_partition])
def test_what_became_of_a_root_since_or_in_order_is_no_loss(roots: list[Path], change: Change) -> None:
    change(roots)
    with opened(roots) as directories:
        assert not [str(each) for each in directories.shortfalls.values()]


def test_what_was_kept_and_is_damaged_is_refused_and_found(roots: list[Path]) -> None:
    path = roots[1] / OTHER_ROOTS_NAME
    assert OtherRoots.read(roots[1]) is not None
    path.write_bytes(path.read_bytes().replace(b"10", b"11"))
    (found,) = verify(OfflineLogDirectory.open(roots[1]))
    assert (found.kind, found.file) == ("own-file-unparsable", OTHER_ROOTS_NAME)
    with pytest.raises(CorruptMetadataError, match="check that none of these is an older copy"):
        opened(roots)
