"""A disk that forgets what was not flushed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from replication.testing import ForgetfulDisk


def test_what_was_not_flushed_is_lost(tmp_path: Path) -> None:
    disk, path = ForgetfulDisk(), tmp_path / "file"
    file = disk.open(path)
    disk.write(file, b"safe")
    disk.fsync(file)
    disk.write(file, b"lost")
    disk.close(file)
    assert disk.lose() == 4
    assert path.read_bytes() == b"safe"


def test_what_was_there_before_is_safe(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    disk = ForgetfulDisk()
    file = disk.open(path)
    disk.write(file, b" and after")
    disk.close(file)
    assert disk.lose() == 10
    assert path.read_bytes() == b"before"


def test_a_file_that_was_emptied_has_nothing_safe(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    disk = ForgetfulDisk()
    file = disk.open(path, truncate=True)
    disk.write(file, b"after")
    disk.close(file)
    disk.lose()
    assert path.read_bytes() == b""


def test_a_renamed_file_keeps_what_is_safe(tmp_path: Path) -> None:
    disk, (before, after) = ForgetfulDisk(), (tmp_path / "a", tmp_path / "b")
    before.mkdir()
    file = disk.open(before / "file")
    disk.write(file, b"safe")
    disk.fsync(file)
    disk.rename(before, after)
    disk.write(file, b"lost")
    disk.close(file)
    assert disk.lose() == 4
    assert (after / "file").read_bytes() == b"safe"


def test_a_file_that_was_cut_is_not_longer_for_what_was_flushed_before(tmp_path: Path) -> None:
    disk, path = ForgetfulDisk(), tmp_path / "file"
    file = disk.open(path)
    disk.write(file, b"12345678")
    disk.fsync(file)
    disk.truncate(path, 4)
    disk.write(file, b"new")
    disk.close(file)
    assert disk.lose() == 3
    assert path.read_bytes() == b"1234"


def test_after_a_loss_the_rest_is_safe(tmp_path: Path) -> None:
    disk, path = ForgetfulDisk(), tmp_path / "file"
    file = disk.open(path)
    disk.write(file, b"lost")
    disk.close(file)
    assert (disk.lose(), disk.lose()) == (4, 0)


def test_a_file_is_known_under_its_new_name_also_while_it_is_open(tmp_path: Path) -> None:
    disk, old = ForgetfulDisk(), tmp_path / "old"
    old.mkdir()
    file = disk.open(old / "file")
    disk.write(file, b"safe")
    disk.fsync(file)
    disk.rename(old / "file", old / "renamed")
    disk.write(file, b"lost")
    disk.rename(old, tmp_path / "new")
    disk.close(file)
    assert disk.lose() == 4
    assert (tmp_path / "new/renamed").read_bytes() == b"safe"


def test_threads_open_and_rename_files_at_once(tmp_path: Path) -> None:
    disk = ForgetfulDisk()

    def write(number: int) -> None:
        for turn in range(50):
            path = tmp_path / f"{number}-{turn}"
            disk.write_atomically(path, b"safe")
            file = disk.open(path)
            disk.write(file, b"lost")
            disk.close(file)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(8)))
    assert disk.lose() == 8 * 50 * 4
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b"safe"}
