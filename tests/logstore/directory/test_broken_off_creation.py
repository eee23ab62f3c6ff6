"""Partitions of several roots whose creation was broken off are made by the next call, each in one root."""

import errno
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import UUID

import pytest

from logstore.directory.log_directories import LogDirectories
from logstore.topic_partition import TopicPartition
from tests.disk import FailingDisk, Failure

TOPIC_ID = UUID(int=7)
WANTED = {TopicPartition("orders", number): TOPIC_ID for number in range(3)}
NAMES = sorted(map(str, WANTED))

Retry = Callable[[LogDirectories, Mapping[TopicPartition, UUID]], object]


class DiskOutOfDescriptors(FailingDisk):
    """The real disk, one of whose steps the process has no descriptor for."""

    def _step(self, name: str, path: Path) -> None:
        try:
            super()._step(name, path)
        except OSError as error:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE)) from error


PASSING: list[Callable[[int], FailingDisk]] = [
    DiskOutOfDescriptors,
    lambda step: FailingDisk(step, Failure.FULL),
    lambda step: FailingDisk(step, Failure.SHORT),
]
ANY = [*PASSING, lambda step: FailingDisk(step, Failure.BROKEN)]


def at_once(directories: LogDirectories, missing: Mapping[TopicPartition, UUID]) -> None:
    directories.create_many(missing)


def one_by_one(directories: LogDirectories, missing: Mapping[TopicPartition, UUID]) -> None:
    for partition, topic_id in missing.items():
        directories.create(partition, topic_id=topic_id)


def roots(directory: Path) -> list[Path]:
    directory.mkdir(exist_ok=True)
    return [directory / "disk-1", directory / "disk-2"]


def broken_off(directory: Path, disk: FailingDisk, step: int, make: Retry = at_once) -> LogDirectories:
    """Break the creation off at a step of either disk."""
    disk.steps_left = 0
    directories = LogDirectories.open(roots(directory), filesystem=disk, replicated=True)
    disk.steps_left = step
    with pytest.raises(OSError, match=r"\w") as raised:
        make(directories, WANTED)
    assert disk.failed, raised.value
    return directories


def steps(directory: Path, make: Retry = at_once) -> range:
    """Return the numbers of the steps that the creation takes."""
    disk = FailingDisk(0)
    with LogDirectories.open(roots(directory / "counted"), filesystem=disk, replicated=True) as directories:
        before = disk.steps_left
        make(directories, WANTED)
        return range(1, before - disk.steps_left + 1)


def missing(directories: LogDirectories) -> dict[TopicPartition, UUID]:
    return {each: topic_id for each, topic_id in WANTED.items() if directories.get(each) is None}


def held(*held_by: Path) -> list[str]:
    """Return the names of the partitions' directories in roots, of one in two of them twice."""
    return sorted(path.name for root in held_by for path in root.glob("orders-*"))


@pytest.mark.parametrize("retry", [at_once, one_by_one])
@pytest.mark.parametrize("make", [at_once, one_by_one])
@pytest.mark.parametrize("disk_failing_at", PASSING)
def test_what_a_limit_breaks_off_is_made_where_it_was_begun(
    tmp_path: Path, disk_failing_at: Callable[[int], FailingDisk], make: Retry, retry: Retry
) -> None:
    for step in steps(tmp_path, make):
        directory = tmp_path / str(step)
        directories = broken_off(directory, disk_failing_at(step), step, make)
        assert directories.offline == {}
        retry(directories, missing(directories))
        assert held(*roots(directory)) == NAMES
        assert not any(root.begun for root in directories.roots)
        directories.close()
        with LogDirectories.open(roots(directory)) as directories:
            assert sorted(map(str, directories.partitions)) == NAMES


@pytest.mark.parametrize("retry", [at_once, one_by_one])
def test_what_a_failed_disk_breaks_off_is_made_in_the_other_roots(tmp_path: Path, retry: Retry) -> None:
    for step in steps(tmp_path):
        directory = tmp_path / str(step)
        directories = broken_off(directory, FailingDisk(step, Failure.BROKEN), step)
        (online,) = set(roots(directory)) - set(directories.offline)
        retry(directories, missing(directories))
        assert held(online) == NAMES
        directories.close()
        with LogDirectories.open([online]) as directories:
            assert sorted(map(str, directories.partitions)) == NAMES


@pytest.mark.parametrize("disk_failing_at", ANY)
def test_what_was_begun_before_a_crash_is_an_empty_log_then_as_in_kafka(
    tmp_path: Path, disk_failing_at: Callable[[int], FailingDisk]
) -> None:
    for step in steps(tmp_path):
        directory = tmp_path / str(step)
        broken_off(directory, disk_failing_at(step), step).abandon()
        begun = held(*roots(directory))
        with LogDirectories.open(roots(directory)) as directories:
            assert sorted(map(str, directories.partitions)) == begun
            directories.create_many(missing(directories))
            assert all(log.log_end_offset == 0 for log in directories.partitions.values())
        assert held(*roots(directory)) == NAMES


def test_those_that_were_begun_count_where_others_are_spread(tmp_path: Path) -> None:
    *_, last = steps(tmp_path, one_by_one)
    directories = broken_off(tmp_path / "spread", DiskOutOfDescriptors(last), last, one_by_one)
    begun = [len(root.partitions) + len(root.begun) for root in directories.roots]
    assert begun == [2, 1]
    directories.create(TopicPartition("payments", 0))
    assert [len(root.partitions) + len(root.begun) for root in directories.roots] == [2, 2]
    directories.close()
