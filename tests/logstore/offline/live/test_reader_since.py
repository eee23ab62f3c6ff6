"""A reader beside the writer begins at a time, reads columns, and waits."""

import asyncio
import random
import struct
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pytest

from logstore import CorruptBatchError, Log, LogClosedError, LogConfig, ReadOnlyLog, Record, TornBatchError
from logstore.offline.live import segment_piece
from logstore.segment.read_view import ReadView

CONFIG = LogConfig(segment_bytes=1_000, index_interval_bytes=200, file_delete_delay_ms=0)
NOW = 1_700_000_000_000


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.open(tmp_path / "events", CONFIG, clock=lambda: NOW) as log:
        yield log


@pytest.fixture
def reader(log: Log) -> Iterator[ReadOnlyLog]:
    with Log.reader(log.directory, poll_seconds=0.001) as reader:
        yield reader


def write(log: Log, *batches: list[int]) -> None:
    for times in batches:
        log.append([Record.of(b"v", timestamp=time) for time in times])


def message(offset: int, timestamp: int, size: int) -> bytes:
    """A message of magic 1."""
    checked = struct.pack(">bbqii", 1, 0, timestamp, -1, size) + b"v" * size
    return struct.pack(">qiI", offset, 4 + len(checked), zlib.crc32(checked)) + checked


def offsets(records: Iterator[Record]) -> list[int]:
    return [record.offset for record in records]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("order", ["rising", "any"])
def test_it_begins_where_the_log_itself_does(log: Log, reader: ReadOnlyLog, seed: int, order: str) -> None:
    rng = random.Random(seed)
    times = [NOW + rng.randrange(1_000) for _ in range(300)]
    if order == "rising":
        times.sort()
    rest = iter(times)
    while batch := [time for time, _ in zip(rest, range(rng.randrange(1, 9)), strict=False)]:
        write(log, batch)
        if rng.random() < 0.1:
            log.flush()
    assert len(log.segments) > 3
    log.trim(before=rng.randrange(100))
    for since in [0, NOW, *rng.sample(times, 20), NOW + 999, NOW + 1_000]:
        assert offsets(reader.records(since=since)) == offsets(log.records(since=since))


def test_a_datetime_is_a_time_too(log: Log, reader: ReadOnlyLog) -> None:
    write(log, [1_000], [2_000], [3_000])
    assert offsets(reader.records(since=datetime.fromtimestamp(2, UTC))) == [1, 2]


def test_without_a_later_record_it_begins_at_the_end(log: Log, reader: ReadOnlyLog) -> None:
    write(log, [1_000, 2_000])
    tail = iter(reader.tail(since=5_000))
    write(log, [3_000])
    assert next(tail).offset == 2


def test_a_tail_begins_at_a_time(log: Log, reader: ReadOnlyLog) -> None:
    write(log, [1_000], [2_000], [3_000])
    assert next(iter(reader.tail(since=1_500))).offset == 1


def test_what_is_trimmed_while_a_time_is_looked_up_is_not_asked_for(
    log: Log, reader: ReadOnlyLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(log, *([NOW + number] for number in range(10)))
    read = ReadOnlyLog.read

    def trimmed(self: ReadOnlyLog, offset: int, max_bytes: int) -> ReadView:
        log.trim(before=5)
        return read(self, offset, max_bytes)

    monkeypatch.setattr(ReadOnlyLog, "read", trimmed)
    assert offsets(reader.records(since=NOW)) == [5, 6, 7, 8, 9]


def test_where_there_is_no_segment_yet_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    with Log.reader(tmp_path / "t-0") as reader:
        assert offsets(reader.records(since=NOW)) == offsets(reader.records()) == []


def test_either_an_offset_or_a_time_is_given(reader: ReadOnlyLog) -> None:
    for read in (reader.records, reader.tail):
        with pytest.raises(TypeError, match="pass one, an offset or a time"):
            read(1, since=1)
        with pytest.raises(ValueError, match="pass milliseconds since 1970 UTC"):
            read(since=-1)


@pytest.mark.parametrize("entry", [b"\xff" * 12, (NOW + 5).to_bytes(8) + (100).to_bytes(4)], ids=["odd", "untrue"])
def test_an_index_that_is_wrong_is_not_believed(log: Log, reader: ReadOnlyLog, entry: bytes) -> None:
    write(log, *([NOW + number] for number in range(100)))
    log.flush()
    for path in log.directory.glob("*.timeindex"):
        path.write_bytes(entry)
    assert offsets(reader.records(since=NOW + 30)) == list(range(30, 100))


def test_without_indexes_the_headers_say_it(log: Log, reader: ReadOnlyLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_piece, "_WALKED_BYTES", 100)
    write(log, *([NOW + number, NOW + number] for number in range(100)))
    for path in log.directory.glob("*index"):
        path.unlink()
    assert offsets(reader.records(since=NOW + 30)) == list(range(60, 200))


def test_segments_that_are_known_to_be_earlier_are_not_gone_through(
    log: Log, reader: ReadOnlyLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(log, *([NOW + number] for number in range(200)))
    log.flush()
    walked = 0
    reaching = segment_piece.SegmentPieces.reaching

    def counted(self: segment_piece.SegmentPieces, position: int, reached: int, timestamp: int) -> Iterator[int]:
        nonlocal walked
        walked += self.size() - position
        return reaching(self, position, reached, timestamp)

    monkeypatch.setattr(segment_piece.SegmentPieces, "reaching", counted)
    assert offsets(reader.records(since=NOW + 190)) == list(range(190, 200))
    assert walked < log.size / 4


def test_damage_before_that_time_is_told(log: Log, reader: ReadOnlyLog) -> None:
    write(log, *([NOW + number] for number in range(60)))
    log.flush()
    for path in log.directory.glob("*index"):
        path.unlink()
    with open(log.segments[1].path, "r+b") as segment:
        segment.seek(8)
        segment.write(bytes(4))  # a length of nothing
    with pytest.raises((CorruptBatchError, TornBatchError)):
        reader.records(since=NOW + 59)


@pytest.mark.parametrize("size", [1, 26, 27, 50])
def test_messages_of_older_magics_are_looked_at_one_by_one(log: Log, reader: ReadOnlyLog, size: int) -> None:
    """The smallest are smaller than the header of a batch."""
    log.close()
    for path in log.directory.iterdir():
        path.unlink()
    data = b"".join(message(offset, NOW + offset, size) for offset in range(9))
    (log.directory / "00000000000000000000.log").write_bytes(data)
    assert offsets(reader.records()) == list(range(9))
    for first in range(10):
        assert offsets(reader.records(since=NOW + first)) == list(range(first, 9))
    assert [(each := reader.get(offset)) and each.offset for offset in range(9)] == list(range(9))
    assert next(iter(reader.tail(8))).offset == 8


def test_columns_are_read_as_the_log_itself_reads_them(log: Log, reader: ReadOnlyLog) -> None:
    write(log, *([NOW + number, NOW] for number in range(50)))
    log.trim(before=7)
    start = reader.log_start_offset
    assert reader.to_arrow(start, 90) == log.to_arrow(start, 90)
    assert sum(len(columns) for columns in reader.columns(start)) == 93


def test_a_thread_waits_for_a_record(log: Log, reader: ReadOnlyLog) -> None:
    waiting = Thread(target=reader.wait, args=[0])
    waiting.start()
    write(log, [NOW])
    waiting.join()
    assert reader.wait(0, timeout=0)
    assert not reader.wait(1, timeout=0.01)


def test_a_task_waits_for_a_record(log: Log, reader: ReadOnlyLog) -> None:
    async def main() -> tuple[bool, bool]:
        task = asyncio.create_task(reader.wait_async(0))
        await asyncio.sleep(0)
        write(log, [NOW])
        return await task, await reader.wait_async(1, timeout=0.01)

    assert asyncio.run(main()) == (True, False)


def test_whoever_waits_is_told_that_it_is_closed(reader: ReadOnlyLog) -> None:
    reader.close()
    with pytest.raises(LogClosedError):
        reader.wait(0)
    with pytest.raises(LogClosedError):
        asyncio.run(reader.wait_async(0))
