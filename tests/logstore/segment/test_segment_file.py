"""The file of a segment in use: appended to, mapped, cut, and shared with nobody."""

from pathlib import Path

import pytest

from logstore.segment.segment_file import SegmentFile


def written(path: Path, content: bytes) -> SegmentFile:
    file = SegmentFile(path)
    file.create()
    file.append(content)
    return file


def test_what_was_appended_can_be_read(tmp_path: Path) -> None:
    file = written(tmp_path / "a.log", b"one")
    file.append(b"two")
    assert bytes(file.data()) == b"onetwo"
    file.close()


@pytest.mark.parametrize("mapped", [False, True])
def test_a_cut_file_leaves_others_alone(tmp_path: Path, mapped: bool) -> None:
    cut, other = written(tmp_path / "a.log", b"onetwo"), written(tmp_path / "b.log", b"three")
    if mapped:
        cut.data()
    cut.truncate_to(3)
    assert (tmp_path / "a.log").read_bytes() == b"one"
    assert bytes(other.data()) == b"three"
    assert bytes(written(tmp_path / "c.log", b"four").data()) == b"four"
    assert bytes(cut.data()) == b"one"


def test_a_reader_keeps_the_bytes_that_a_cut_takes_away(tmp_path: Path) -> None:
    file = written(tmp_path / "a.log", b"onetwo")
    held = file.data()[3:]
    file.truncate_to(3)
    assert bytes(held) == b"two"
    assert bytes(file.data()) == b"one"
    assert (tmp_path / "a.log").read_bytes() == b"one"


def test_a_released_file_is_opened_again(tmp_path: Path) -> None:
    file = written(tmp_path / "a.log", b"one")
    assert file.release()
    file.append(b"two")
    assert bytes(file.data()) == b"onetwo"
    file.release()
    file.truncate_to(3)
    assert bytes(file.data()) == b"one"
