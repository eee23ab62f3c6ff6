"""What opening a log leaves on stable storage, whatever was broken off before."""

import errno
import os
from pathlib import Path

import pytest

from epoch.filesystem import FileSystem
from logstore import Log
from tests.disk import NamingDisk

ROOT_SYNCED = "sync root"


class ForgetfulDisk(NamingDisk):
    """Cannot sync the directory that logs are made in, as long as it is told so."""

    failure = 0

    def fsync_directory(self, path: Path) -> None:
        if self.failure and path.name == "root":
            raise OSError(self.failure, os.strerror(self.failure))
        super().fsync_directory(path)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root" / "queue-0"


def open_and_close(directory: Path, disk: NamingDisk) -> list[str]:
    disk.steps.clear()
    Log.open(directory, filesystem=disk).close()
    return disk.steps


def test_the_name_of_a_new_log_is_on_stable_storage_before_its_files(directory: Path) -> None:
    assert open_and_close(directory, NamingDisk())[0] == ROOT_SYNCED


def test_a_directory_that_others_have_made_is_not_trusted_to_be_there_after_a_power_loss(directory: Path) -> None:
    directory.mkdir()
    assert open_and_close(directory, NamingDisk())[0] == ROOT_SYNCED


def test_an_opening_that_could_not_sync_the_name_leaves_that_to_the_next(directory: Path) -> None:
    disk = ForgetfulDisk()
    disk.failure = errno.EIO
    with pytest.raises(OSError, match="Input/output error"):
        Log.open(directory, filesystem=disk)
    disk.failure = 0
    assert open_and_close(directory, disk)[0] == ROOT_SYNCED


def test_a_directory_that_was_made_for_who_may_not_read_its_parent_is_opened(directory: Path) -> None:
    directory.mkdir()
    disk = ForgetfulDisk()
    disk.failure = errno.EACCES
    assert open_and_close(directory, disk)


def test_a_log_that_has_files_is_opened_without_another_sync_of_its_name(directory: Path) -> None:
    open_and_close(directory, NamingDisk())
    assert ROOT_SYNCED not in open_and_close(directory, NamingDisk())


class QuickerNeighbour(FileSystem):
    """Another process makes the directory just before."""

    def mkdir(self, path: Path) -> None:
        path.mkdir()
        super().mkdir(path)


def test_a_directory_that_another_process_has_just_made_is_opened(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", filesystem=QuickerNeighbour()) as log:
        assert log.append([b"first"]).last_offset == 0


def test_a_file_in_the_place_of_the_directory_is_none(tmp_path: Path) -> None:
    (tmp_path / "t-0").touch()
    with pytest.raises(FileExistsError):
        Log.open(tmp_path / "t-0")
