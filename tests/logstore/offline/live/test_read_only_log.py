"""A log is read beside its writer: whatever that does, only whole batches are shown, and what was replaced is told."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, assert_type

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epoch.filesystem import FileSystem
from logstore.errors import (
    CorruptBatchError,
    LogClosedError,
    LogTruncatedError,
    NotALogDirectoryError,
    OffsetOutOfRangeError,
    ReadOnlyError,
)
from logstore.log.log import Log
from logstore.log.observers.log_observer import LogObserver
from logstore.log_config import LogConfig
from logstore.offline.live import following
from logstore.offline.live.read_only_log import ReadOnlyLog
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from logstore.segment.open_files import OpenFiles
from tests.campaign import Campaign
from tests.data.replicas import PROJECT
from tests.logstore.offline.live import replacing_process

CONFIG = LogConfig(segment_bytes=600, retention_ms=-1, file_delete_delay_ms=0, index_interval_bytes=200)
BESIDE = Campaign("seconds of reading beside a process that cuts and rewrites", full=600, share=3)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        write(log, 20)
        yield log


@pytest.fixture
def reader(log: Log) -> ReadOnlyLog:
    return ReadOnlyLog.open(log.directory, poll_seconds=0.001)


def write(log: Log, count: int, value: bytes = b"%d") -> None:
    for _ in range(count):
        log.append([value % log.log_end_offset if b"%" in value else value])


def offsets(reader: ReadOnlyLog, start: int | None = None, end: int | None = None) -> list[int]:
    return [record.offset for record in reader.records(start, end)]


def test_one_is_opened_by_either_name(log: Log) -> None:
    with Log.open(log.directory, read_only=True, poll_seconds=0.5) as reader:
        assert_type(reader, ReadOnlyLog)
        assert (type(reader), reader.poll_seconds, reader.log_end_offset) == (ReadOnlyLog, 0.5, 20)
    with Log.open(log.directory, read_only=True) as reader, Log.reader(log.directory) as other:
        assert_type(other, ReadOnlyLog)
        assert reader.poll_seconds == other.poll_seconds


@pytest.mark.parametrize(
    "given_too",
    [
        {"config": LogConfig()},
        {"in_directory": True},
        {"filesystem": FileSystem()},
        {"clock": lambda: 0},
        {"observer": LogObserver()},
        {"open_files": OpenFiles(1)},
        {"progress": print},
    ],
    ids=lambda arguments: next(iter(arguments)),
)
def test_arguments_for_writers_are_refused_to_readers(log: Log, given_too: dict[str, Any]) -> None:
    (name,) = given_too
    with pytest.raises(TypeError, match=rf"^`{name}` cannot be given with read_only=True.*pass the directory"):
        Log.open(log.directory, read_only=True, **given_too)


def test_arguments_for_readers_are_refused_to_writers(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"poll_seconds": 0.1}
    with pytest.raises(TypeError, match=r"poll_seconds .* pass read_only=True"):
        Log.open(tmp_path / "t-0", **arguments)
    assert not (tmp_path / "t-0").exists()


def test_it_reads_what_the_writer_has_written_and_writes_nothing(log: Log, reader: ReadOnlyLog) -> None:
    before = sorted((path.name, path.stat().st_mtime_ns) for path in log.directory.iterdir())
    assert len(log.segments) > 2
    assert (reader.log_start_offset, reader.log_end_offset) == (0, 20)
    assert offsets(reader) == list(range(20))
    assert offsets(reader, 7, 9) == [7, 8]
    assert [record.value for record in reader.read(13, 1).records()] == [b"13"]
    assert not reader.read(20, 1).data
    assert reader.epochs.entries == log.epochs.entries
    assert sorted((path.name, path.stat().st_mtime_ns) for path in log.directory.iterdir()) == before


def test_it_follows_appends_rolls_and_deletions(log: Log, reader: ReadOnlyLog) -> None:
    tail = iter(reader.tail(18))
    assert [next(tail).offset for _ in range(2)] == [18, 19]
    write(log, 20)
    assert [next(tail).offset for _ in range(20)] == list(range(20, 40))
    log.update_high_watermark(40)
    log.delete_records(35)
    log.delete_old_segments()
    assert reader.log_start_offset == 35
    write(log, 1)
    assert next(tail).offset == 40
    with pytest.raises(OffsetOutOfRangeError, match="from 35 on, and not 3"):
        reader.read(3, 1)
    with pytest.raises(OffsetOutOfRangeError, match="35 to 40, and not 42"):
        reader.read(42, 1)


def test_a_truncation_is_told_with_the_place_where_histories_diverge(log: Log, reader: ReadOnlyLog) -> None:
    records, tail = reader.records(), iter(reader.tail(0))
    for _ in range(15):
        next(records)
        next(tail)
    log.truncate_to(6)
    write(log, 30, b"other")
    for each in (records, tail):
        with pytest.raises(LogTruncatedError) as told:
            list(each)
        assert told.value.offset == 6


def test_a_log_that_begins_anew_within_a_batch_has_lost_it(log: Log, reader: ReadOnlyLog) -> None:
    """A batch that was deleted at the log's start would end there, or before."""
    log.append([b"20", b"21"])
    tail = iter(reader.tail(0))
    for _ in range(22):
        next(tail)
    log.truncate_fully_and_start_at(21)
    with pytest.raises(LogTruncatedError) as told:
        next(tail)
    assert told.value.offset == 20


def test_a_truncation_above_the_place_is_followed(log: Log, reader: ReadOnlyLog) -> None:
    tail = iter(reader.tail(0))
    for _ in range(20):
        next(tail)
    write(log, 3)
    log.truncate_to(20)
    write(log, 1, b"other")
    assert next(tail).value == b"other"


def test_a_batch_that_is_half_written_is_not_shown(log: Log, reader: ReadOnlyLog) -> None:
    last = log.segments[-1].path
    log.abandon()
    whole = last.read_bytes()
    for size in range(len(whole) - 1, len(whole) - 60, -7):
        os.truncate(last, size)
        assert offsets(reader) == list(range(19))
        assert reader.log_end_offset == 19
    last.write_bytes(whole + bytes(1_000))  # preallocated
    assert offsets(reader) == list(range(20))
    assert reader.log_end_offset == 20


def test_a_dead_brokers_log_is_read_to_where_recovery_would_end_it(log: Log) -> None:
    log.update_high_watermark(20)
    log.delete_records(2)
    log.abandon()
    recovered = RecoveredLog.load(PartitionDirectory.open(log.directory))
    assert [record.offset for record in recovered.records()] == list(range(2, 20))
    assert [record.offset for record in recovered.records(7, 9)] == [7, 8]
    assert list(recovered.records(20)) == []
    with pytest.raises(OffsetOutOfRangeError, match="2 to 19, and not 1"):
        next(recovered.records(1))
    with open(log.segments[-1].path, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"?")
    recovered = RecoveredLog.load(PartitionDirectory.open(log.directory))
    assert [record.offset for record in recovered.records(10)] == list(range(10, 19))


def test_damage_is_told_and_not_taken_for_the_end(log: Log, reader: ReadOnlyLog) -> None:
    for segment in (log.segments[1], log.segments[-1]):
        content = bytearray(segment.path.read_bytes())
        content[65] ^= 1
        segment.path.write_bytes(content)
        with pytest.raises(CorruptBatchError, match="checksum"):
            offsets(reader, segment.base_offset)


@pytest.mark.parametrize(
    "method", ["append", "append_batches", "truncate_to", "flush", "roll", "delete_records", "cursor", "recover"]
)
def test_methods_that_write_are_refused(reader: ReadOnlyLog, method: str) -> None:
    with pytest.raises(ReadOnlyError, match=r"open it with `Log\.open`"):
        getattr(reader, method)(1)


def test_each_method_of_a_log_that_writes_is_one_of_them(reader: ReadOnlyLog) -> None:
    reading = {"records", "tail", "read", "get", "columns", "arrow_batches", "to_arrow", "wait", "wait_async"}
    reading |= {"close", "open"}
    refused = {name for name in dir(Log) if getattr(reader, name, None) == reader.append}
    others = {name for name in dir(Log) if callable(getattr(Log, name)) and not name.startswith("_")}
    assert others - refused - reading == {
        "announced_cut",
        "ensure_readable",
        "known_producer",
        "sound_ranges",
        "attend",
        "leave",
        "offset_for_timestamp",
        "end_offset_for_epoch",
        "abandon",
        "give_up",
        "open_read_only",
        "reader",
    }


def test_a_log_that_is_gone_is_told(log: Log, reader: ReadOnlyLog) -> None:
    tail = iter(reader.tail(19))
    next(tail)
    log.close()
    rmtree(log.directory)
    with pytest.raises(LogClosedError, match="gone"):
        next(tail)
    with pytest.raises(LogClosedError):
        reader.read(0, 1)
    with pytest.raises(NotALogDirectoryError):
        ReadOnlyLog.open(log.directory)


def test_a_closed_one_ends_its_tails(log: Log, reader: ReadOnlyLog) -> None:
    tail = iter(reader.tail(19))
    next(tail)
    reader.close()
    assert list(tail) == []
    with pytest.raises(LogClosedError):
        reader.read(0, 1)
    assert not log.segments[0].path.with_suffix(".lock").exists()


def test_tasks_follow_too(log: Log, reader: ReadOnlyLog) -> None:
    async def main() -> list[int]:
        found = []
        async for record in reader.tail(18):
            found.append(record.offset)
            if record.offset == 19:
                write(log, 1)
            if record.offset == 20:
                break
        return found

    assert asyncio.run(main()) == [18, 19, 20]


def test_who_waits_at_the_end_is_told_of_a_cut_below_it(log: Log, reader: ReadOnlyLog) -> None:
    end = log.log_end_offset
    place = following.Following(reader, end)
    assert list(place.records()) == []

    log.truncate_to(end - 2)
    write(log, 3)

    with pytest.raises(LogTruncatedError) as told:
        list(place.records())
    assert told.value.offset == end - 2


def test_who_waits_at_the_end_of_an_emptied_log_is_told_of_a_cut_below_its_start(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        for _ in range(4):
            write(log, 1)
        log.flush()
        log.update_high_watermark(4)
        log.delete_records(4)
        place = following.Following(ReadOnlyLog.open(log.directory), 4)
        assert list(place.records()) == []

        log.truncate_to(3)
        write(log, 1)

        with pytest.raises(LogTruncatedError) as told:
            list(place.records())
        assert told.value.offset == 3


def test_who_waits_in_an_empty_log_is_told_when_it_begins_sooner(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        log.truncate_fully_and_start_at(3)
        place = following.Following(ReadOnlyLog.open(log.directory), 3)
        assert list(place.records()) == []

        log.truncate_to(2)
        write(log, 1)

        with pytest.raises(LogTruncatedError) as told:
            list(place.records())
        assert told.value.offset == 2


STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "append", "truncate", "delete", "roll", "flush", "anew"]), st.integers(0, 6)),
    max_size=30,
)


@settings(deadline=None, max_examples=60)
@given(STEPS, st.data())
def test_whatever_the_writer_does_a_reader_has_what_it_has(steps: list[tuple[str, int]], data: st.DataObject) -> None:
    """A reader that undoes what it is told to undo has, in the end, what the log has."""
    with TemporaryDirectory() as directory, Log.open(Path(directory) / "t-0", CONFIG) as log:
        reader = ReadOnlyLog.open(log.directory)
        place = following.Following(reader, 0)
        seen: dict[int, bytes | None] = {}
        number = 0
        for name, argument in steps:
            end = log.log_end_offset
            match name:
                case "append":
                    log.append([b"%d" % (number + each) for each in range(argument + 1)])
                    number += argument + 1
                case "truncate":
                    log.truncate_to(max(0, end - argument))
                case "delete":
                    log.update_high_watermark(end)
                    log.delete_records(max(0, end - argument))
                    log.delete_old_segments()
                case "roll":
                    log.roll()
                case "anew":
                    log.truncate_fully_and_start_at(end + argument)
                case _:
                    log.flush()
            # What was deleted at the start is gone, though a truncation may let the log begin below it again.
            seen = {offset: value for offset, value in seen.items() if offset >= log.log_start_offset}
            if data.draw(st.booleans()):
                place = read_on(reader, place, seen)
        place = read_on(reader, place, seen)
        kept = {record.offset: record.value for record in log.records()}
        assert {offset: value for offset, value in seen.items() if offset >= log.log_start_offset} == kept


def read_on(reader: ReadOnlyLog, place: following.Following, seen: dict[int, bytes | None]) -> following.Following:
    while True:
        try:
            for record in place.records():
                assert not [offset for offset in seen if offset >= record.offset]
                seen[record.offset] = record.value
        except LogTruncatedError as told:
            for offset in [offset for offset in seen if offset >= (told.offset or 0)]:
                del seen[offset]
            place = following.Following(reader, max(told.offset or 0, reader.log_start_offset))
        except OffsetOutOfRangeError:
            place = following.Following(reader, reader.log_start_offset)
        else:
            return place


def test_beside_a_process_that_cuts_and_rewrites_nothing_is_torn_or_mixed(tmp_path: Path) -> None:
    """Each record tells of which life of the log it is: those of a history that was read are what was written."""
    read = told = 0
    directory = tmp_path / "t-0"
    with subprocess.Popen(
        [sys.executable, replacing_process.__file__, directory, str(BESIDE.seed)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    ) as writer:
        try:
            assert writer.stdout is not None
            writer.stdout.readline()
            end = time.monotonic() + BESIDE.count
            reader = ReadOnlyLog.open(directory)
            while time.monotonic() < end:
                begun = read
                try:
                    for _ in lives(reader):
                        read += 1
                except LogTruncatedError:
                    told += 1
                except OffsetOutOfRangeError:
                    assert read > begun or reader.log_start_offset
        finally:
            writer.kill()
    assert read
    BESIDE.report(BESIDE.count, f"{read:,} records read, {told:,} truncations told")


def lives(reader: ReadOnlyLog) -> Iterator[int]:
    """Read all there is: offsets rise one by one, and who writes a record later has cut before."""
    before: tuple[int, int] | None = None
    for record in reader.records():
        offset, life = map(int, (record.value or b"").split())
        assert offset == record.offset
        assert before is None or (before[0] < offset and before[1] <= life), (before, offset, life)
        before = offset, life
        yield life
