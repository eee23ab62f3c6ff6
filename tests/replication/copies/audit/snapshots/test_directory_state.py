"""A directory stands still as long as no file of the log has another size or time, comes or goes."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from replication.copies.audit.snapshots.directory_state import DirectoryState
from replication.copies.audit.snapshots.storage import Storage

LOG = "00000000000000000000.log"
INDEX = "00000000000000000000.index"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    place = tmp_path / "t-0"
    place.mkdir()
    (place / LOG).write_bytes(bytes(1_000))
    (place / INDEX).write_bytes(bytes(8))
    return place


def movement(directory: Path, change: Callable[[], object]) -> str | None:
    before = DirectoryState.of(Storage(str(directory)))
    change()
    return before.movement(DirectoryState.of(Storage(str(directory))))


def append(file: Path) -> None:
    with open(file, "ab") as log:
        log.write(bytes(500))


def replace_directory(directory: Path) -> None:
    directory.rename(directory.with_name("t-0.1234-delete"))


def test_what_nobody_touches_stands_still(directory: Path) -> None:
    assert movement(directory, lambda: None) is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda place: append(place / LOG), f"{LOG} had 1,000 bytes, then 1,500"),
        (lambda place: os.truncate(place / LOG, 1), f"{LOG} had 1,000 bytes, then 1"),
        (lambda place: os.utime(place / LOG, ns=(1, 1)), f"{LOG} was written to, and has 1,000 bytes as before"),
        (lambda place: (place / LOG).unlink(), f"{LOG} was there, then gone"),
        (lambda place: (place / LOG).rename(place / f"{LOG}.deleted"), f"{LOG} was there, then gone"),
        (lambda place: append(place / "00000000000000000007.log"), "00000000000000000007.log was not there, then was"),
        (lambda place: append(place / "leader-epoch-checkpoint"), "leader-epoch-checkpoint was not there, then was"),
        (
            lambda place: (append(place / INDEX), append(place / LOG)),
            f"{LOG} had 1,000 bytes, then 1,500, and 1 more moved too",
        ),
        (replace_directory, "the directory was there, then gone"),
    ],
    ids=["append", "truncate", "touch", "remove", "delete", "roll", "epoch", "several", "partition"],
)
def test_what_moves_is_told_in_a_line(directory: Path, change: Callable[[Path], object], told: str) -> None:
    assert movement(directory, lambda: change(directory)) == told


@pytest.mark.parametrize("fate", ["deleted", "cleaned"])
def test_what_comes_and_goes_beside_the_log_does_not_count(directory: Path, fate: str) -> None:
    passing = directory / f"{LOG}.{fate}"
    assert movement(directory, passing.touch) is None
    assert movement(directory, passing.unlink) is None


def test_a_directory_that_comes_has_moved(tmp_path: Path) -> None:
    place = tmp_path / "t-1"

    def come() -> None:
        place.mkdir()
        (place / LOG).touch()

    assert not DirectoryState.of(Storage(str(place))).is_there
    assert movement(place, come) == "the directory was not there, then was"


def test_what_cannot_be_listed_is_there(tmp_path: Path) -> None:
    (tmp_path / "t-1").touch()
    state = DirectoryState.of(Storage(str(tmp_path / "t-1")))
    assert state.is_there
    assert "ot a directory" in str(state.unread)
    assert state.movement(state) is None
    assert str(state.movement(DirectoryState({}))) == "the directory was there, then gone"
