"""A copy that is to be repaired shares nothing that a change could reach."""

import errno
import os
from pathlib import Path

import pytest

from logstore.offline.directory_copy import bytes_to_copy, copy_directory


def filled(root: Path) -> Path:
    (root / "orders-0/deep").mkdir(parents=True)
    (root / "orders-0/a.log").write_bytes(b"a" * 100_000)
    (root / "orders-0/deep/b").write_bytes(b"")
    (root / ".lock").write_bytes(b"")
    (root / "link").symlink_to("/etc/hostname")
    return root


def test_files_are_copied_and_links_and_the_lock_are_not(tmp_path: Path) -> None:
    source, target = filled(tmp_path / "source"), tmp_path / "new/target"
    done: list[int] = []
    copy_directory(source, target, progress=done.append)
    assert sorted(str(path.relative_to(target)) for path in target.rglob("*")) == [
        "orders-0",
        "orders-0/a.log",
        "orders-0/deep",
        "orders-0/deep/b",
    ]
    assert (target / "orders-0/a.log").read_bytes() == b"a" * 100_000
    assert sum(done) == bytes_to_copy(source) == 100_000


def test_a_change_of_the_copy_does_not_reach_the_original(tmp_path: Path) -> None:
    source, target = filled(tmp_path / "source"), tmp_path / "target"
    copy_directory(source, target)
    with open(target / "orders-0/a.log", "r+b") as copy:
        copy.write(b"changed")
        copy.truncate(7)
    assert (source / "orders-0/a.log").read_bytes() == b"a" * 100_000


def test_file_systems_that_cannot_share_blocks_copy_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EXDEV, "refused")

    monkeypatch.setattr(os, "copy_file_range", refuse)
    copy_directory(filled(tmp_path / "source"), tmp_path / "target")
    assert (tmp_path / "target/orders-0/a.log").read_bytes() == b"a" * 100_000


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    with pytest.raises(FileExistsError, match="does not exist yet"):
        copy_directory(filled(tmp_path / "source"), tmp_path / "target")
