"""What a directory listing takes for a file, and which links it follows."""

import os
from pathlib import Path

import pytest

from logstore.errors import NotALogDirectoryError
from logstore.offline.directory_listing import list_directory


def test_a_link_is_followed_inside_the_root_only(tmp_path: Path) -> None:
    root, beside = tmp_path / "root", tmp_path / "root-2"
    for directory in (root / "t-0", beside):
        directory.mkdir(parents=True)
        (directory / "file").touch()
    (root / "t-0" / "inside").symlink_to(root / "t-0" / "file")
    (root / "t-0" / "beside").symlink_to(beside / "file")
    (root / "t-0" / "upwards").symlink_to("../../root-2")
    listing = list_directory(root / "t-0", root=root)
    assert set(listing.files) == {"file", "inside"}
    assert set(listing.escaping_links) == {"beside", "upwards"}


def test_what_is_neither_file_nor_directory_is_apart(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "t-0").mkdir()
    listing = list_directory(tmp_path, root=tmp_path)
    assert set(listing.other) == {"loop", "nowhere", "pipe"}
    assert set(listing.directories) == {"t-0"}


def test_only_directories_are_listed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("file", "missing"):
        with pytest.raises(NotALogDirectoryError, match="directory"):
            list_directory(tmp_path / name, root=tmp_path)


def test_where_there_is_nothing_the_directories_that_there_are_are_named(tmp_path: Path) -> None:
    for name in ("diverged", "reconciled"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").touch()
    missing, file = tmp_path / "broker-1/orders-0", tmp_path / "file"
    there = f"the directories in {tmp_path} are diverged, reconciled"
    with pytest.raises(NotALogDirectoryError, match=f"^{missing}: no such directory; correct the path: {there}$"):
        list_directory(missing, root=missing)
    with pytest.raises(NotALogDirectoryError, match=f"^{file}: not a directory; name a directory, such as the one "):
        list_directory(file, root=file)
    for number in range(9):
        (tmp_path / f"orders-{number}").mkdir()
    with pytest.raises(NotALogDirectoryError, match=r"orders-6 and 3 more$"):
        list_directory(missing, root=missing)
