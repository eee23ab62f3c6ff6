"""`Log.records` goes over a log to its end, across all that happens to it meanwhile."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from logstore.batch.record import Record
from logstore.errors import CorruptBatchError, LogClosedError, LogTruncatedError, OffsetOutOfRangeError
from logstore.log.log import Log
from logstore.log.reading import view_source
from logstore.log.reading.isolation import Isolation
from logstore.log_config import LogConfig

CONFIG = LogConfig(segment_bytes=300, retention_ms=-1, file_delete_delay_ms=0)


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_source, "PIECE_BYTES", 1)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        write(log, range(20))
        yield log


def write(log: Log, numbers: range) -> None:
    for number in numbers:
        log.append([Record.of(b"%d" % number, timestamp=1_000 * number)])


def offsets(records: Iterator[Record]) -> list[int]:
    return [record.offset for record in records]


def test_all_segments_are_read(log: Log) -> None:
    assert len(log.segments) > 3
    assert [record.value for record in log.records()] == [b"%d" % number for number in range(20)]


@pytest.mark.parametrize(("start", "end"), [(0, 0), (3, 9), (19, 20), (20, None), (20, 30), (9, 3)])
def test_it_begins_and_ends_where_it_was_told(log: Log, start: int, end: int | None) -> None:
    assert offsets(log.records(start, end)) == list(range(start, min(20, 20 if end is None else end)))


def test_what_is_appended_before_the_end_is_met_is_read(log: Log) -> None:
    records = log.records(18)
    assert next(records).offset == 18
    write(log, range(20, 23))
    assert offsets(records) == [19, 20, 21, 22]


def test_a_roll_is_not_noticed(log: Log) -> None:
    records = log.records(18)
    assert next(records).offset == 18
    log.roll()
    write(log, range(20, 21))
    assert offsets(records) == [19, 20]


def test_isolation_ends_it(log: Log) -> None:
    log.update_high_watermark(7)
    assert offsets(log.records(isolation=Isolation.HIGH_WATERMARK)) == list(range(7))
    with pytest.raises(TypeError, match=r"Isolation.LOG_END"):
        log.records(isolation="high_watermark")  # type: ignore[arg-type]


def test_a_truncation_below_is_told_with_where_it_cut(log: Log) -> None:
    records = log.records()
    assert [next(records).offset for _ in range(10)] == list(range(10))
    log.truncate_to(12)
    log.truncate_to(4)
    write(log, range(4, 20))
    with pytest.raises(LogTruncatedError, match=r"histories diverge at offset 4; undo the effects of") as told:
        next(records)
    assert told.value.offset == 4


def test_a_truncation_above_is_followed(log: Log) -> None:
    records = log.records()
    for _ in range(10):
        next(records)
    log.truncate_to(10)
    log.append([b"other"])
    assert [record.value for record in records] == [b"other"]


def test_records_that_were_deleted_first_are_told(log: Log) -> None:
    records = log.records()
    next(records)
    log.update_high_watermark(20)
    log.delete_records(5)
    log.delete_old_segments()
    with pytest.raises(OffsetOutOfRangeError, match="offsets 5 to 19, and not 1"):
        next(records)


@pytest.mark.parametrize("start", [-1, 21])
def test_a_start_outside_of_the_log_is_refused_at_once(log: Log, start: int) -> None:
    with pytest.raises(OffsetOutOfRangeError, match="not"):
        log.records(start)


def test_a_closed_log_is_told(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        write(log, range(2))
        records = log.records()
        next(records)
    with pytest.raises(LogClosedError):
        next(records)
    with pytest.raises(LogClosedError):
        log.records()


# --- damage


@pytest.mark.parametrize("at", [5, 40], ids=["base-offset", "checksum"])
@pytest.mark.parametrize("start", [0, 9, 11, 12])
def test_damage_is_told_with_its_place_in_its_file_wherever_reading_began(log: Log, start: int, at: int) -> None:
    [(segment, position)] = [
        (each, batch.position) for each in log.segments for batch in each.batches() if batch.base_offset == 12
    ]
    log.flush()
    flip(segment.path, position + at)
    with Log.reader(log.directory) as read_only:
        for records in (
            lambda: log.records(start),
            lambda: log.records(start, 15),
            lambda: log.read(max(start, segment.base_offset), 10_000).records(),
            lambda: log.tail(start),
            lambda: read_only.records(start),
        ):
            with pytest.raises(CorruptBatchError) as raised:
                offsets(iter(records()))
            assert (raised.value.file, raised.value.position) == (str(segment.path), position)


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


# --- by time


@pytest.mark.parametrize("since", [4_500, datetime.fromtimestamp(4.5, UTC), datetime.fromtimestamp(4.5)])  # noqa: DTZ006  local
def test_it_begins_at_a_time(log: Log, since: int | datetime) -> None:
    assert offsets(log.records(since=since)) == list(range(5, 20))
    assert offsets(log.records(end=7, since=since)) == [5, 6]


def test_a_time_after_all_records_gives_none(log: Log) -> None:
    assert offsets(log.records(since=10**9)) == []


def test_a_time_is_no_offset(log: Log) -> None:
    with pytest.raises(TypeError, match="pass one"):
        log.records(3, since=4)
    with pytest.raises(ValueError, match="milliseconds since 1970"):
        log.records(since=-2)
