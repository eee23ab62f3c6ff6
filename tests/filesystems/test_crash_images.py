"""What is replayed is what a device may have after power loss, and all of what it may have is there."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.filesystems.crash_images import SECTOR, All, CrashPoint, Nothing, Without, choose, crash_points, images
from tests.filesystems.recording import Entry, Flush, Mark, Recorder, Write, read_recording

SECTORS = 12


@st.composite
def recordings(draw: st.DrawFn) -> list[Entry]:
    """Some requests, of which no two write the same bytes, and then a mark and more of them."""
    entries: list[Entry] = [Mark(0)] if draw(st.booleans()) else []
    kinds = draw(st.lists(st.sampled_from("wwwfm"), max_size=12))
    for number, kind in enumerate(kinds, 1):
        if kind == "w":
            start = draw(st.integers(0, SECTORS - 1))
            size = draw(st.integers(1, SECTORS - start))
            entries.append(Write(start * SECTOR, bytes([number]) * size * SECTOR))
        else:
            entries.append(Flush() if kind == "f" else Mark(number))
    return entries


def crashed(entries: Sequence[Entry], points: Sequence[CrashPoint]) -> Iterator[tuple[CrashPoint, bytearray]]:
    """The bytes of a disk after each crash."""
    base = bytearray(SECTORS * SECTOR)
    for flushed, point, kept in images(entries, points):
        put(base, flushed)
        disk = bytearray(base)
        put(disk, kept)
        yield point, disk


def put(disk: bytearray, writes: Sequence[Write]) -> None:
    for write in writes:
        disk[write.offset : write.offset + len(write.data)] = write.data


def possible(entries: Sequence[Entry], sector: int) -> set[int]:
    """What a sector may hold after these entries: the last that was flushed, or what was written since."""
    found = {0}
    for entry in entries:
        if isinstance(entry, Write) and entry.offset <= sector * SECTOR < entry.offset + len(entry.data):
            found = {*found, entry.data[0]}
            latest = entry.data[0]
        elif isinstance(entry, Flush) and len(found) > 1:
            found = {latest}
    return found


@given(recordings())
def test_each_sector_holds_what_was_flushed_or_was_written_since(entries: list[Entry]) -> None:
    points = choose(list(crash_points(entries)), 1_000, seed=0)
    for point, disk in crashed(entries, points):
        before = entries[: point.position]
        assert point.mark == next(entry.number for entry in reversed(before) if isinstance(entry, Mark))
        for sector in range(SECTORS):
            held = set(disk[sector * SECTOR : (sector + 1) * SECTOR])
            assert len(held) == 1, "a sector is torn"
            assert held <= possible(before, sector)


@given(recordings())
def test_at_each_flush_all_and_nothing_and_each_single_write_may_be_lost(entries: list[Entry]) -> None:
    marked = next((number for number, entry in enumerate(entries) if isinstance(entry, Mark)), len(entries))
    points = list(crash_points(entries))
    assert {point.position for point in points if isinstance(point.choice, All)} == {
        number + 1 for number in range(marked, len(entries))
    }
    unflushed = 0
    for position, entry in enumerate(entries):
        if isinstance(entry, Flush) and position > marked and unflushed:
            chosen = [point.choice for point in points if point.position == position]
            assert Nothing() in chosen
            assert all(Without(number) in chosen for number in range(unflushed - 1))
        unflushed = 0 if isinstance(entry, Flush) else unflushed + isinstance(entry, Write)


def test_some_crashes_tear_what_was_not_flushed() -> None:
    entries = [Mark(0), Write(0, bytes([1]) * SECTORS * SECTOR), Flush()]
    left = {bytes(disk) for seed in range(20) for _, disk in crashed(entries, list(crash_points(entries, seed)))}
    assert {b"\0" * SECTORS * SECTOR, b"\1" * SECTORS * SECTOR} < left
    assert any(len(set(disk)) == 2 for disk in left)


def test_no_crash_at_a_flush_or_mark_is_left_out() -> None:
    entries = list(chain.from_iterable((Write(0, b"x" * SECTOR), Flush(), Mark(number)) for number in range(20)))
    points = list(crash_points(entries))
    flushes = [point for point in points if point.is_flush]
    assert len(flushes) == 39
    assert choose(points, 0, seed=0) == flushes
    chosen = choose(points, 50, seed=0)
    assert len(chosen) == 50
    assert [point.position for point in chosen] == sorted(point.position for point in chosen)
    assert set(flushes) < set(chosen)


def test_a_recording_is_read_as_it_was_noted(tmp_path: Path) -> None:
    entries = [Write(4_096, b"abc"), Flush(), Mark(7), Write(2**40, b""), Mark(0)]
    with Recorder(tmp_path / "recording") as recorder:
        for entry in entries:
            recorder.add(entry)
    assert list(read_recording(tmp_path / "recording")) == entries


def test_each_choice_keeps_what_it_says() -> None:
    writes = [Write(number * SECTOR, bytes([number])) for number in range(3)]
    assert list(All().keep(writes)) == writes
    assert list(Nothing().keep(writes)) == []
    assert list(Without(1).keep(writes)) == [writes[0], writes[2]]
