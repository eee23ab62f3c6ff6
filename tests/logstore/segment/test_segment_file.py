"""The file of a segment in use: appended to, mapped, cut, and shared with nobody."""

from pathlib import Path
from unittest.mock import patch

import pytest

from logstore.segment import segment_file
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


def test_what_is_appended_later_is_read_by_the_mapping_that_is_there(tmp_path: Path) -> None:
    file = written(tmp_path / "a.log", b"")
    content = bytearray()
    held = []
    with patch.object(segment_file, "map_file", wraps=segment_file.map_file) as mapped:
        for number in range(300):
            part = bytes([number % 256]) * 8_000
            file.append(part)
            content += part
            held.append(file.data())
            assert held[-1] == content  # to its end and no further: what follows is not in the file yet
    assert mapped.call_count == -(-len(content) // segment_file.MAPPED_AHEAD)
    assert all(view == content[: len(view)] for view in held)


def test_a_cut_leaves_a_mapping_that_others_hold_alone_and_the_file_grows_again(tmp_path: Path) -> None:
    file = written(tmp_path / "a.log", b"onetwo")
    held = file.data()[:]
    file.truncate_to(3)
    file.append(b"six")
    assert bytes(file.data()) == b"onesix"
    assert bytes(held) == b"onetwo"
    del held
    file.truncate_to(3)
    file.append(b"ten")
    assert bytes(file.data()) == b"oneten"
