"""A segment whose offsets are too far apart is divided so that each part's offsets fit its index."""

import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch.filesystem import REAL
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile
from logstore.recovery.loaded_log import LoadedLog
from logstore.recovery.log_loader import load_log
from logstore.recovery.segment_split import Part, plan_split, write_parts
from logstore.segment.live_segment import LiveSegment
from tests.disk import NamingDisk
from tests.logstore.batches import batch, record

FARTHEST = 2**31 - 1
DISTANCES = st.sampled_from([1, 7, FARTHEST - 5, FARTHEST - 1, FARTHEST, FARTHEST + 1, 2**33])


def a_batch(base_offset: int, reach: int = 0, *, producer: int = -1) -> bytes:
    """What compaction leaves of a batch that reached from one offset to another: a record, and where it ended."""
    sequence = -1 if producer < 0 else 0
    return batch(
        base_offset=base_offset,
        records=[record(value=b"kept")],
        last_offset_delta=reach,
        producer_id=producer,
        producer_epoch=min(sequence, 0),
        base_sequence=sequence,
    )


def plan(data: bytes, base_offset: int = 0) -> tuple[Part, ...]:
    return plan_split(LogFile(memoryview(data)), base_offset)


def a_message_that_wraps_nonsense(offset: int) -> bytes:
    """Of magic 1: its checksum is valid, but nobody can tell the first offset in it."""
    checked = bytes([1, 1]) + bytes(8) + (-1).to_bytes(4, signed=True) + (3).to_bytes(4) + b"odd"
    return offset.to_bytes(8) + (4 + len(checked)).to_bytes(4) + zlib.crc32(checked).to_bytes(4) + checked


@given(st.lists(st.tuples(DISTANCES, st.sampled_from([0, 3, FARTHEST - 4, FARTHEST])), min_size=1, max_size=12))
def test_each_part_fits_its_index_and_reaches_as_far_as_it_can(batches: list[tuple[int, int]]) -> None:
    data, end, first_last = b"", 0, dict[int, tuple[int, int]]()
    for distance, reach in batches:
        base_offset = end + distance - 1
        first_last[len(data)] = base_offset, base_offset + reach
        data += a_batch(base_offset, reach)
        end = base_offset + reach + 1
    parts = plan(data)
    if not parts:
        assert first_last[0][0] == 0
        assert max(last for _, last in first_last.values()) <= FARTHEST
        return
    starts = [part.position for part in parts]
    assert starts[0] == 0
    for part, following in zip(parts, [*starts[1:], len(data)], strict=True):
        inside = [reach for at, reach in first_last.items() if part.position <= at < following]
        assert part.base_offset == inside[0][0]
        assert inside[-1][1] - part.base_offset <= FARTHEST
        if following < len(data):
            assert first_last[following][1] - part.base_offset > FARTHEST


def test_a_torn_end_stays_with_the_last_part() -> None:
    whole = a_batch(5) + a_batch(2**33)
    assert plan(whole + a_batch(2**33 + 1)[:-3]) == (Part(5, 0), Part(2**33, len(whole) // 2))


def test_what_cannot_be_read_stays_with_the_last_part() -> None:
    nonsense = a_message_that_wraps_nonsense(2**40)
    assert plan(a_batch(5) + a_batch(2**33) + nonsense) == (Part(5, 0), Part(2**33, len(a_batch(5))))
    assert plan(a_batch(5) + nonsense, 5) == ()


def test_a_segment_may_only_need_another_name() -> None:
    assert plan(a_batch(2**40), 7) == (Part(2**40, 0),)
    assert plan(a_batch(2**40), 2**40) == ()


@pytest.mark.parametrize("offsets", [(0, 2**40, 1), (0, 2**40, 2**40), (2**40, 0)])
def test_offsets_that_do_not_rise_are_damage(offsets: tuple[int, ...]) -> None:
    assert plan(b"".join(map(a_batch, offsets))) == ()


def test_no_log_ends_beyond_the_largest_offset() -> None:
    assert plan(a_batch(0) + a_batch(2**63 - 1)) == ()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "t-0"
    path.mkdir()
    return path


def write(directory: Path, base_offset: int, data: bytes) -> None:
    (directory / f"{base_offset:020d}.log").write_bytes(data)


def shape(loaded: LoadedLog) -> list[tuple[int, int]]:
    return [(segment.base_offset, next_offset(segment)) for segment in loaded.segments]


def next_offset(segment: LiveSegment) -> int:
    """Read from the last index entry on."""
    entries = segment.offset_index.entries
    batches = segment.batches(entries[-1].position if entries else 0)
    return max((batch.last_offset + 1 for batch in batches), default=segment.base_offset)


FAR = 10**10
SPLIT = [(100, 103), (FAR, FAR + 2), (2 * FAR, 2 * FAR + 4)]
CONFIG = LogConfig(index_interval_bytes=0)


def overflowing() -> bytes:
    return a_batch(100) + a_batch(102) + a_batch(FAR, 1) + a_batch(2 * FAR, 1) + a_batch(2 * FAR + 3)


def test_what_an_earlier_attempt_left_is_written_over(directory: Path) -> None:
    write(directory, 100, overflowing())
    position = 2 * len(a_batch(100))
    (directory / f"{FAR:020d}.log.cleaned").write_bytes(b"left over")
    write_parts(directory, 100, (Part(100, 0), Part(FAR, position)), REAL)
    assert (directory / f"{100:020d}.log.swap").read_bytes() == overflowing()[:position]
    assert (directory / f"{FAR:020d}.log.swap").read_bytes() == overflowing()[position:]


def test_parts_are_complete_on_the_disk_before_any_gets_its_name(directory: Path) -> None:
    write(directory, 100, overflowing())
    first, second = (f"{base_offset:020d}.log" for base_offset in (100, FAR))
    disk = NamingDisk()
    write_parts(directory, 100, (Part(100, 0), Part(FAR, 2 * len(a_batch(100)))), disk)
    assert disk.steps == [
        f"sync {first}.cleaned",
        f"close {first}.cleaned",
        f"sync {second}.cleaned",
        f"close {second}.cleaned",
        f"rename {second}.cleaned {second}.swap",
        f"rename {first}.cleaned {first}.swap",
        "sync t-0",
    ]


class TestLoading:
    def test_a_segment_is_split_and_nothing_is_lost(self, directory: Path) -> None:
        write(directory, 100, overflowing())
        loaded = load_log(directory, CONFIG)
        assert shape(loaded) == SPLIT
        assert b"".join(bytes(segment.file.data()) for segment in loaded.segments) == overflowing()
        assert loaded.report.split_segments == ["00000000000000000100.log"]
        assert loaded.report.changed
        assert not loaded.report.dropped
        assert [len(segment.offset_index) for segment in loaded.segments] == [1, 0, 1]

    def test_so_is_one_below_the_recovery_point_whose_index_is_lost(self, directory: Path) -> None:
        write(directory, 100, overflowing())
        write(directory, 3 * FAR, a_batch(3 * FAR))
        loaded = load_log(directory, CONFIG, recovery_point=3 * FAR)
        assert shape(loaded) == [*SPLIT, (3 * FAR, 3 * FAR + 1)]

    def test_the_log_ends_at_damage_in_one_of_the_parts(self, directory: Path) -> None:
        data = bytearray(overflowing())
        data[4 * len(a_batch(0)) - 1] ^= 1
        write(directory, 100, bytes(data))
        write(directory, 3 * FAR, a_batch(3 * FAR))
        loaded = load_log(directory, CONFIG)
        assert shape(loaded) == [(100, 103), (FAR, FAR + 2), (2 * FAR, 2 * FAR)]
        assert [(tail.file, tail.reason) for tail in loaded.report.dropped] == [
            (f"{2 * FAR:020d}.log", "a batch's checksum does not match"),
            (f"{3 * FAR:020d}.log", "it follows a damaged segment"),
        ]

    def test_an_offset_that_damage_made_large_ends_the_log(self, directory: Path) -> None:
        write(directory, 100, a_batch(100) + a_batch(FAR) + a_batch(102))
        loaded = load_log(directory, CONFIG)
        assert shape(loaded) == [(100, 101)]
        assert loaded.report.dropped[0].reason == "a batch's offsets do not fit the segment"

    def test_a_segment_of_which_nobody_can_tell_how_to_split_it_is_cut(self, directory: Path) -> None:
        write(directory, 100, a_batch(100) + a_message_that_wraps_nonsense(FAR))
        loaded = load_log(directory, CONFIG)
        assert shape(loaded) == [(100, 101)]

    def test_a_second_segment_is_split_as_well(self, directory: Path) -> None:
        write(directory, 0, a_batch(0) + a_batch(50 * FAR, producer=7))
        write(directory, 60 * FAR, a_batch(60 * FAR) + a_batch(70 * FAR, producer=8))
        loaded = load_log(directory, CONFIG, clock=lambda: 2_000)
        assert [segment.base_offset for segment in loaded.segments] == [0, 50 * FAR, 60 * FAR, 70 * FAR]
        assert set(loaded.producers.producers) == {7, 8}
