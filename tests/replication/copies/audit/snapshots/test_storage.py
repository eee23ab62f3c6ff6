"""Directories are listed and read alike wherever they are; a remote one is copied for as long as it is read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from replication.base.errors import UnreadableLocationError
from replication.copies.audit.snapshots.remote.place import Place
from replication.copies.audit.snapshots.remote.remote_directory import RemoteDirectory
from replication.copies.audit.snapshots.storage import Storage


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "broker/t-0/deeper/still").mkdir(parents=True)
    (tmp_path / "broker/empty-0").mkdir()
    (tmp_path / "broker/meta.properties").write_bytes(b"meta")
    (tmp_path / "broker/t-0/00000000000000000000.log").write_bytes(b"log")
    (tmp_path / "broker/t-0/deeper/still/file").write_bytes(b"unseen")
    return tmp_path / "broker"


def test_a_tree_names_files_and_sizes_three_levels_deep(root: Path) -> None:
    assert Storage(str(root)).tree() == {
        "": {"meta.properties": 4},
        "empty-0": {},
        "t-0": {"00000000000000000000.log": 3},
        "t-0/deeper": {},
        "t-0/deeper/still": {"file": 6},
    }


@pytest.mark.parametrize("has_link", [False, True])
def test_the_files_of_a_directory_alone_may_be_looked_at_by_their_names_end(root: Path, *, has_link: bool) -> None:
    (root / "t-0/00000000000000000000.index").write_bytes(b"index")
    if has_link:
        (root / "t-0/00000000000000000009.log").symlink_to("00000000000000000000.index")
    logs = {"00000000000000000000.log": 3} | ({"00000000000000000009.log": 5} if has_link else {})

    files = Storage(str(root / "t-0")).files(".log")

    assert {name: size for name, size in files.items() if name.endswith(".log")} == logs
    assert Storage(str(root / "t-0")).files() == logs | {"00000000000000000000.index": 5}


def test_links_that_leave_a_directory_are_not_followed(root: Path) -> None:
    (root.parent / "secret").mkdir()
    (root.parent / "secret/file").write_bytes(b"secret")
    (root / "out-0").symlink_to(root.parent / "secret")
    (root / "t-0/link").symlink_to(root.parent / "secret/file")

    tree = Storage(str(root)).tree()

    assert "out-0" not in tree
    assert set(tree["t-0"]) == {"00000000000000000000.log"}


def test_a_directory_that_cannot_be_listed_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableLocationError, match=r"^[^:]*nowhere: no such directory; correct the path"):
        Storage(str(tmp_path / "nowhere")).tree()


def test_a_file_uri_is_a_local_path(root: Path) -> None:
    storage = Storage(root.as_uri())

    assert storage.is_local
    assert storage.path == root


def test_a_local_copy_of_a_local_directory_is_the_directory_itself(root: Path) -> None:
    with Storage(str(root)).local_copy("t-0") as directory:
        assert directory == root / "t-0"


def test_a_file_that_goes_while_files_are_looked_at_is_left_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "t-0/leader-epoch-checkpoint").touch()
    there, scandir = Storage(str(root / "t-0")).stored_files(), os.scandir
    first = min(there)

    @contextmanager
    def list_and_remove(directory: Path) -> Iterator[list[os.DirEntry[str]]]:
        with scandir(directory) as entries:
            listed = list(entries)
        (directory / first).unlink()
        yield listed

    monkeypatch.setattr(os, "scandir", list_and_remove)
    assert Storage(str(root / "t-0")).stored_files() == {name: file for name, file in there.items() if name != first}


def test_what_is_secret_in_a_uri_is_not_shown() -> None:
    storage = Storage("s3://key:secret@bucket/backups/broker-1?endpoint_override=localhost:5000")

    assert storage.shown == "s3://bucket/backups/broker-1"
    assert storage.name == "broker-1"
    child = "s3://key:secret@bucket/backups/broker-1/t-0?endpoint_override=localhost:5000"
    assert storage.child("t-0") == Storage(child)


@pytest.mark.parametrize(
    ("uri", "parent"),
    [
        ("/copies/broker-1", "/copies"),
        ("s3://bucket/copies/broker-1/?region=eu-west-1", "s3://bucket/copies?region=eu-west-1"),
        ("s3://bucket/broker-1", "s3://bucket"),
    ],
)
def test_a_directory_is_in_its_parent(uri: str, parent: str) -> None:
    assert Storage(uri).parent == Storage(parent)


def test_a_remote_directory_that_somebody_writes_to_is_listed_by_what_two_answers_have(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyarrow.fs import LocalFileSystem

    answers = count()

    class Written:
        """With each answer a file grows, and another one is there."""

        def get_file_info(self, selector: object) -> object:
            number = next(answers)
            (root / "t-0/00000000000000000000.log").write_bytes(b"log" * (number + 1))
            (root / f"t-{number + 1}").mkdir()
            (root / f"t-{number + 1}/00000000000000000000.log").write_bytes(b"log")
            return LocalFileSystem().get_file_info(selector)

    place = Place(Written(), str(root))  # type: ignore[arg-type]  it does what is asked of it here
    monkeypatch.setattr(RemoteDirectory, "place", place)
    monkeypatch.setattr(RemoteDirectory, "_place_of", lambda *_: place)
    tree = Storage("s3://bucket/broker").tree(1)
    assert tree["t-0"] == {"00000000000000000000.log": 12}
    assert {"t-1", "t-2", "t-3"} <= tree.keys()
    assert "t-4" not in tree, "one answer alone had it"
