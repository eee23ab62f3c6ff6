"""The file of a segment in use: appended to, mapped, copied, cut, and shared with nobody."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch.filesystem import FileSystem
from logstore.files.mapped_files import map_file
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


def test_what_no_reader_was_told_of_goes_under_what_they_have_mapped(tmp_path: Path) -> None:
    file = written(tmp_path / "a.log", b"one")
    mapped = file.data()
    with open(file.path, "ab") as torn:
        torn.write(b"tw")
    file.take_back(3)
    assert file.path.read_bytes() == b"one"
    assert file.data() is mapped
    file.append(b"six")
    assert bytes(mapped) == b"one"
    assert bytes(file.data()) == b"onesix"


def test_who_has_mapped_that_too_keeps_it(tmp_path: Path) -> None:
    file = written(tmp_path / "a.log", b"onetwo")
    mapped = file.data()
    file.take_back(3)
    file.append(b"six")
    assert bytes(mapped) == b"onetwo"
    assert bytes(file.data()) == b"onesix"


def test_a_released_file_is_opened_again(tmp_path: Path) -> None:
    file = written(tmp_path / "a.log", b"one")
    assert file.release()
    file.append(b"two")
    assert bytes(file.data()) == b"onetwo"
    file.release()
    file.truncate_to(3)
    assert bytes(file.data()) == b"one"


# --- reads behind appends


class WatchedDisk(FileSystem):
    """Does something before the next bytes are read, or after them."""

    def __init__(self) -> None:
        self.before: Callable[[], object] | None = None
        self.after: Callable[[], object] | None = None
        self.reads = 0
        self.is_broken = False
        self.closed: list[int] = []

    def read_at(self, descriptor: int, position: int, size: int) -> bytes:
        self.reads += 1
        if self.is_broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        before, self.before = self.before, None
        if before is not None:
            before()
        data = super().read_at(descriptor, position, size)
        after, self.after = self.after, None
        if after is not None:
            after()
        return data

    def close(self, descriptor: int) -> None:
        super().close(descriptor)
        self.closed.append(descriptor)


@pytest.fixture
def disk() -> WatchedDisk:
    return WatchedDisk()


@pytest.fixture
def file(tmp_path: Path, disk: WatchedDisk) -> Iterator[SegmentFile]:
    """Six bytes, half of which are mapped."""
    made = SegmentFile(tmp_path / "a.log", filesystem=disk)
    made.create()
    made.append(b"one")
    made.data()
    made.append(b"two")
    yield made
    made.close()


def between(file: SegmentFile, position: int, size: int) -> bytes:
    """The bytes in this range."""
    data, begin = file.between(position, size)
    return bytes(data[position - begin : size - begin])


@pytest.fixture
def mappings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes with which files are mapped."""
    sizes: list[int] = []

    def note(path: Path, size: int) -> memoryview:
        sizes.append(size)
        return map_file(path, size)

    monkeypatch.setattr(segment_file, "map_file", note)
    return sizes


def test_bytes_behind_the_mapping_are_copied(file: SegmentFile, mappings: list[int]) -> None:
    assert bytes(file.mapped(3) or b"") == b"one"
    assert file.mapped(4) is None
    assert between(file, 2, 6) == b"etwo"
    assert mappings == []


def test_readers_of_the_same_bytes_share_a_copy(file: SegmentFile, disk: WatchedDisk) -> None:
    first, begin = file.between(3, 6)
    again, same = file.between(4, 6)
    assert (again is first, same, disk.reads) == (True, begin, 1)
    file.append(b"more")
    assert between(file, 4, 8) == b"womo"
    assert bytes(first) == b"two"
    assert disk.reads == 2


def test_a_file_is_mapped_once_copies_have_taken_as_long(
    file: SegmentFile, mappings: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_file, "MOST_COPIED", 100)
    for number in range(100):
        file.append(b"0123456789")
        assert between(file, 6 + 10 * number, 16 + 10 * number) == b"0123456789"
    assert len(mappings) == 9
    assert mappings == sorted(mappings)


def test_many_bytes_at_once_are_mapped(file: SegmentFile, mappings: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_file, "LARGEST_COPY", 4)
    assert between(file, 2, 6) == b"etwo"
    assert mappings == []
    assert between(file, 1, 6) == b"netwo"
    assert mappings == [6]


def test_a_file_that_is_not_open_is_mapped(file: SegmentFile, mappings: list[int]) -> None:
    assert file.release()
    assert between(file, 3, 6) == b"two"
    assert mappings == [6]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("then", [b"", b"TWO"])
def test_bytes_that_are_cut_while_they_are_read_are_not_given(
    file: SegmentFile, disk: WatchedDisk, moment: str, then: bytes
) -> None:
    def cut() -> None:
        file.truncate_to(3)
        file.append(then)

    setattr(disk, moment, cut)
    assert between(file, 3, 6) == then


def test_a_copy_from_before_a_cut_is_not_given_after_it(file: SegmentFile) -> None:
    assert between(file, 3, 6) == b"two"
    file.truncate_to(3)
    file.append(b"TWO")
    assert between(file, 3, 6) == b"TWO"


def test_a_copy_that_its_reader_leaves_only_after_a_cut_serves_nobody(file: SegmentFile) -> None:
    assert between(file, 3, 6) == b"two"
    left = file._tail
    file.truncate_to(3)
    file.append(b"TWO")
    file._tail = left
    assert between(file, 3, 6) == b"TWO"


@pytest.mark.parametrize("end", [SegmentFile.release, SegmentFile.close])
def test_a_descriptor_stays_open_while_it_is_read_by(
    file: SegmentFile, disk: WatchedDisk, end: Callable[[SegmentFile], object]
) -> None:
    descriptor = file._descriptor
    seen: list[list[int]] = []
    disk.before = lambda: end(file)
    disk.after = lambda: seen.append(list(disk.closed))
    assert between(file, 3, 6) == b"two"
    assert seen == [[]]
    assert disk.closed == [descriptor]


def test_a_descriptor_waits_for_a_sync_and_a_reader(file: SegmentFile, disk: WatchedDisk) -> None:
    descriptor = file.begin_sync()
    disk.before = file.release
    assert between(file, 3, 6) == b"two"
    assert disk.closed == []
    file.end_sync()
    assert disk.closed == [descriptor]


def test_a_reader_waits_for_no_writer(tmp_path: Path, mappings: list[int]) -> None:
    read: list[bytes] = []
    made: list[SegmentFile] = []

    class Slow(FileSystem):
        def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
            # As a signal handler would, in the thread that holds the file's lock.
            read.append(between(made[0], 0, made[0].size))
            super().write(descriptor, data)

    made.append(SegmentFile(tmp_path / "a.log", filesystem=Slow()))
    made[0].create()
    made[0].append(b"one")
    made[0].append(b"two")
    assert read == [b"", b"one"]
    assert mappings == []
    made[0].close()


def test_a_file_that_cannot_be_read_is_named(file: SegmentFile, disk: WatchedDisk) -> None:
    disk.is_broken = True
    with pytest.raises(OSError, match=r"a\.log"):
        file.between(3, 6)
    disk.is_broken = False
    assert between(file, 3, 6) == b"two"


def test_a_file_that_another_process_has_cut_is_told(file: SegmentFile) -> None:
    os.truncate(file.path, 4)
    with pytest.raises(OSError, match=r"another process has truncated it"):
        file.between(3, 6)


@given(st.data())
def test_any_bytes_are_those_of_the_file_whatever_was_done_to_it(data: st.DataObject) -> None:
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_file, "MOST_COPIED", data.draw(st.integers(0, 300)))
        patch.setattr(segment_file, "LARGEST_COPY", data.draw(st.integers(0, 100)))
        file, expected = SegmentFile(Path(directory) / "a.log"), b""
        file.create()
        held: list[tuple[memoryview, bytes]] = []
        for step in data.draw(st.lists(st.sampled_from(["append", "append", "read", "read", "cut", "release"]))):
            if step == "append":
                more = data.draw(st.binary(min_size=1, max_size=60))
                file.append(more)
                expected += more
            elif step == "read":
                position, size = sorted(data.draw(st.tuples(*[st.integers(0, len(expected))] * 2)))
                view, begin = file.between(position, size)
                part = view[position - begin : size - begin]
                assert part == expected[position:size]
                held.append((part, bytes(part)))
            elif step == "cut":
                kept = data.draw(st.integers(0, len(expected)))
                file.truncate_to(kept)
                expected = expected[:kept]
            else:
                assert file.release()
        assert all(part == before for part, before in held)
        file.close()
