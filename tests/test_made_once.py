"""What is kept below build/ is made by one process at a time."""

import fcntl
from pathlib import Path

import pytest

from tests.made_once import only_maker


def test_a_second_maker_waits_until_the_first_is_done(tmp_path: Path) -> None:
    directory = tmp_path / "below/made"
    with only_maker(directory):
        assert directory.parent.is_dir()
        (lock,) = directory.parent.iterdir()
        with open(lock) as second, pytest.raises(BlockingIOError):
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with open(lock) as second:
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
