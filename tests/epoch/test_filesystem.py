"""The one door to the disk."""

from pathlib import Path

import pytest

from epoch.filesystem import REAL, FileSystem
from tests.disk import FailingDisk
from tests.epoch.disk import CrashingDisk

STEPS_OF_AN_ATOMIC_WRITE = 5


def test_an_atomic_write_syncs_before_and_after_it_renames(tmp_path: Path) -> None:
    disk = CrashingDisk()
    disk.write_atomically(tmp_path / "file", b"new")
    assert disk.steps == ["open", "write", "fsync", "close", "rename", f"fsync {tmp_path.name}"]
    assert disk.after_crash(tmp_path / "file") == {b"new"}


def test_a_crash_leaves_the_old_or_the_new_and_never_a_mixture(tmp_path: Path) -> None:
    file = tmp_path / "file"
    disk = CrashingDisk()
    disk.write_atomically(file, b"old content")
    left: set[bytes | None] = set()
    disk.watchers.append(lambda: left.update(disk.after_crash(file)))
    disk.write_atomically(file, b"new")
    assert left == {b"old content", b"new"}
    assert disk.after_crash(file) == {b"new"}


def test_the_crashing_disk_sees_a_missing_sync(tmp_path: Path) -> None:
    file = tmp_path / "file"
    careless = CrashingDisk()
    descriptor = careless.open(tmp_path / "file.tmp")
    careless.write(descriptor, b"new")
    careless.rename(tmp_path / "file.tmp", file)
    assert careless.after_crash(file) == {None, b"", b"n", b"ne", b"new"}


@pytest.mark.parametrize("step", range(1, STEPS_OF_AN_ATOMIC_WRITE + 1))
def test_a_failed_step_is_told_and_leaves_the_old_or_the_new(tmp_path: Path, step: int) -> None:
    file = tmp_path / "file"
    REAL.write_atomically(file, b"old")
    with pytest.raises(OSError, match=f"No space left.*{tmp_path}"):
        FailingDisk(step).write_atomically(file, b"new")
    assert file.read_bytes() == (b"new" if step == STEPS_OF_AN_ATOMIC_WRITE else b"old")
    REAL.write_atomically(file, b"newer")
    assert file.read_bytes() == b"newer"
    assert list(tmp_path.iterdir()) == [file]


def test_missing_directories_are_made_from_the_top_and_each_is_durable(tmp_path: Path) -> None:
    disk = CrashingDisk()
    disk.make_directories(tmp_path / "a/b")
    assert disk.steps == [f"fsync {tmp_path.name}", "fsync a"]
    assert (tmp_path / "a/b").is_dir()
    disk.make_directories(tmp_path / "a/b")
    assert len(disk.steps) == 2


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    for step in range(1, STEPS_OF_AN_ATOMIC_WRITE + 1):
        with pytest.raises(OSError, match="No space left"):
            FailingDisk(step).write_atomically(tmp_path / "file", b"new")
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_the_primitives(tmp_path: Path) -> None:
    disk = FileSystem()
    directory = tmp_path / "t-0"
    disk.mkdir(directory)
    file = directory / "a"
    for content in (b"hello ", memoryview(b"world")):
        descriptor = disk.open(file)
        disk.write(descriptor, content)
        disk.fsync(descriptor)
        disk.close(descriptor)
    assert file.read_bytes() == b"hello world"
    disk.truncate(file, 5)
    disk.rename(file, directory / "b")
    assert (directory / "b").read_bytes() == b"hello"
    disk.unlink(directory / "b")
    disk.fsync_directory(directory)
    assert list(directory.iterdir()) == []


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    for step in (REAL.fsync_directory, lambda path: REAL.open(path / "file")):
        with pytest.raises(FileNotFoundError, match=str(missing)):
            step(missing)
