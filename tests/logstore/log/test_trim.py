"""`Log.trim` deletes the records below an offset, and frees the space of whole segments."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from logstore import Log, LogConfig, OffsetOutOfRangeError
from tests.bounded_disk import BoundedDisk

CONFIG = LogConfig(segment_bytes=300)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        for number in range(20):
            log.append([b"%d" % number])
        yield log


def test_the_new_start_is_returned_and_whole_segments_are_gone_at_once(log: Log) -> None:
    bases = [segment.base_offset for segment in log.segments]
    assert log.trim(before=bases[2] + 1) == bases[2] + 1
    assert [segment.base_offset for segment in log.segments] == bases[2:]
    assert not list(log.directory.glob("*.deleted"))
    assert next(iter(log.records())).offset == bases[2] + 1


def test_what_was_deleted_before_is_freed_as_well(log: Log) -> None:
    log.flush()
    log.delete_records(log.segments[1].base_offset)
    log.delete_old_segments()
    assert list(log.directory.glob("*.deleted"))
    log.trim(before=0)
    assert not list(log.directory.glob("*.deleted"))


def test_what_is_not_flushed_yet_is_flushed_first(log: Log) -> None:
    assert log.high_watermark < 18
    assert log.trim(before=18) == 18
    assert log.recovery_point >= 18


def test_all_of_it_can_go(log: Log) -> None:
    assert log.trim(before=20) == 20
    assert log.size == 0
    assert log.append([b"next"]).first_offset == 20


def test_below_the_start_nothing_changes(log: Log) -> None:
    log.trim(before=7)
    assert log.trim(before=3) == 7


def test_behind_the_end_nothing_can_be_deleted(log: Log) -> None:
    with pytest.raises(OffsetOutOfRangeError):
        log.trim(before=21)
    assert log.log_start_offset == 0


def test_above_a_high_watermark_that_others_move_nothing_is_deleted(log: Log) -> None:
    log.update_high_watermark(5)
    with pytest.raises(OffsetOutOfRangeError, match="wait until the high watermark has passed it"):
        log.trim(before=6)
    assert log.trim(before=5) == 5


def test_nothing_goes_by_age_or_size(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", LogConfig(segment_bytes=300, retention_bytes=0)) as log:
        for number in range(20):
            log.append([b"%d" % number])
        assert log.trim(before=1) == 1
        assert log.segments[0].base_offset == 0


def test_it_stays_so_after_a_crash(log: Log) -> None:
    log.trim(before=11)
    log.abandon()
    with Log.open(log.directory) as again:
        assert (again.log_start_offset, again.log_end_offset) == (11, 20)


def test_it_makes_space_on_a_full_disk_for_what_is_not_even_flushed(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    disk = BoundedDisk(tmp_path / "disk", 60)
    log = Log.open(tmp_path / "disk/t-0", LogConfig(segment_bytes=16_384), filesystem=disk)
    with suppress(OSError):
        while True:
            log.append([b"x" * 1_000])
    disk.fill()
    assert disk.free_blocks == 0
    start = log.log_end_offset - 1
    assert log.high_watermark < start
    assert log.trim(before=start) == start
    log.append([b"y" * 5_000])
    log.close()
