"""The one door to the disk."""

import os
import resource
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from epoch.base.resource_limits import ResourceLimitError
from epoch.filesystem import REAL, FileSystem
from tests.disk import FailingDisk
from tests.epoch.disk import CrashingDisk
from tests.open_files import open_files

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
    for step in range(1, STEPS_OF_AN_ATOMIC_WRITE + 1):
        with pytest.raises(OSError, match="No space left"):
            FailingDisk(step).write_atomically(tmp_path / "file", b"new")
    REAL.fsync_directory(tmp_path)
    assert not open_files(tmp_path)


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


def test_a_time_of_modification_is_set_to_the_nanosecond(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    REAL.set_modified(file, 1_795_247_755_123_456_700)
    assert file.stat().st_mtime_ns == 1_795_247_755_123_456_700


def test_a_tree_is_removed_and_what_its_links_lead_to_stays(tmp_path: Path) -> None:
    outside, tree = tmp_path / "outside", tmp_path / "tree"
    for directory in (outside, tree / "a" / "b"):
        directory.mkdir(parents=True)
        (directory / "file").write_bytes(b"content")
    (tree / "a" / "link").symlink_to(outside)
    REAL.remove_tree(tree)
    assert not tree.exists()
    assert (outside / "file").read_bytes() == b"content"


def test_a_directory_below_a_missing_one_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as refused:
        REAL.mkdir(tmp_path / "missing" / "t-0")
    assert refused.value.__notes__ == [f"{tmp_path / 'missing'} does not exist: make it first, or correct the path"]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    for step in (REAL.fsync_directory, lambda path: REAL.open(path / "file")):
        with pytest.raises(FileNotFoundError, match=str(missing)):
            step(missing)


def test_what_is_no_directory_is_not_synced_as_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        REAL.fsync_directory(tmp_path / "file")


def test_a_sync_reaches_the_file_or_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = list[int]()
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    REAL.write_atomically(tmp_path / "file", b"new")
    assert synced == [(tmp_path / "file").stat().st_ino, tmp_path.stat().st_ino]


def test_a_write_that_takes_a_part_goes_on_with_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, memoryview(data)[:3]))
    REAL.write_atomically(tmp_path / "file", b"ten bytes.")
    assert (tmp_path / "file").read_bytes() == b"ten bytes."


@pytest.mark.parametrize("step", [lambda path: REAL.open(path / "file"), REAL.fsync_directory])
def test_a_process_without_descriptors_is_told_its_limit(tmp_path: Path, step: Callable[[Path], object]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(int(path.name) for path in Path("/dev/fd").iterdir()) + 1
    taken = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        with suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        with pytest.raises(ResourceLimitError, match=f"{tmp_path}.*RLIMIT_NOFILE of {most:,} is reached"):
            step(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in taken:
            os.close(descriptor)


def test_a_new_file_may_be_read_by_others_and_written_by_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        REAL.close(REAL.open(tmp_path / "file"))
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("can_share", [True, False], ids=["by the system", "by hand"])
def test_a_copy_has_the_whole_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, can_share: bool) -> None:
    def refuse(*_: object) -> int:
        raise OSError

    if not can_share:
        monkeypatch.setattr(os, "copy_file_range", refuse)
    (tmp_path / "a").write_bytes(b"content" * 10_000)
    REAL.copy(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()
    with pytest.raises(FileExistsError):
        REAL.copy(tmp_path / "a", tmp_path / "b")


def test_nobody_may_write_past_what_is_in_the_real_disks_place() -> None:
    assert REAL.is_real
    assert not CrashingDisk().is_real


def test_private_directories_are_made_from_the_top_and_are_removed_when_empty(tmp_path: Path) -> None:
    REAL.make_private_directories(tmp_path / "a" / "b")
    REAL.make_private_directories(tmp_path / "a" / "c", 0o750)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes == {"a": 0o700, "b": 0o700, "c": 0o750}
    REAL.rmdir(tmp_path / "a" / "b")
    assert not (tmp_path / "a" / "b").exists()
    with pytest.raises(OSError, match="not empty"):
        REAL.rmdir(tmp_path / "a")
