"""`Log.get` returns one record, or tells why there is none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from logstore import (
    BatchTemplate,
    CorruptBatchError,
    HoleError,
    Log,
    LogConfig,
    LogTruncatedError,
    OffsetOutOfRangeError,
    ReadOnlyError,
    ReadOnlyLog,
    Record,
)

Readable = Log | ReadOnlyLog


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.open(tmp_path / "t-0", LogConfig(segment_bytes=400, file_delete_delay_ms=0)) as log:
        for first in range(0, 30, 3):
            log.append([b"%d" % number for number in range(first, first + 3)])
        yield log


@pytest.fixture(params=["the log", "a reader"])
def readable(log: Log, request: pytest.FixtureRequest) -> Readable:
    return log if request.param == "the log" else Log.reader(log.directory)


def test_each_record_is_found_wherever_it_is_in_its_batch_and_segment(log: Log, readable: Readable) -> None:
    assert len(log.segments) > 1
    found = [readable.get(offset) for offset in range(30)]
    assert found == list(log.records())


def test_one_that_was_just_appended_is_found(log: Log, readable: Readable) -> None:
    with pytest.raises(OffsetOutOfRangeError, match=r"ends at offset 30, and has no record at 30 yet.*log\.wait\(30\)"):
        readable.get(30)
    log.append([b"new"])
    assert (found := readable.get(30)) is not None
    assert found.value == b"new"


@pytest.mark.parametrize("offset", [-1, 3, 31])
def test_below_the_start_and_behind_the_end_there_is_none(log: Log, readable: Readable, offset: int) -> None:
    log.flush()
    log.delete_records(4)
    with pytest.raises(OffsetOutOfRangeError) as caught:
        readable.get(offset)
    assert caught.value.offset == offset
    assert not isinstance(caught.value, LogTruncatedError)
    assert readable.get(4) is not None


def test_what_compaction_has_removed_is_none(tmp_path: Path) -> None:
    config = LogConfig(cleanup_policy={"compact"}, file_delete_delay_ms=0)
    with Log.open(tmp_path / "t-0", config) as log:
        for number in range(6):
            log.append([Record.of(b"%d" % number, f"key-{number % 2}")])
        log.roll()
        log.append([Record.of(b"last", "key-9")])
        log.flush()
        log.compact()
        with Log.reader(log.directory) as reader:
            for readable in (log, reader):
                found = [readable.get(offset) for offset in range(7)]
                assert [each and each.value for each in found] == [None, None, None, None, b"4", b"5", b"last"]


def test_markers_of_transactions_are_none_and_isolation_is_not_asked_for(tmp_path: Path) -> None:
    template = BatchTemplate(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    with Log.open(tmp_path / "t-0") as log:
        log.append([b"aborted"], template=template)
        log.append_end_transaction(7, 0, commit=False)
        assert (found := log.get(0)) is not None
        assert found.value == b"aborted"
        assert log.get(1) is None


def test_offsets_at_the_end_that_a_truncation_has_left_without_records_are_none(log: Log) -> None:
    log.truncate_to(29)
    assert log.get(26) is not None
    assert [log.get(offset) for offset in (27, 28)] == [None, None]
    with pytest.raises(OffsetOutOfRangeError):
        log.get(29)


def test_a_hole_is_told(log: Log) -> None:
    directory = log.directory
    segment = log.segments[1]
    log.close()
    data = bytearray(segment.path.read_bytes())
    data[80] ^= 1
    segment.path.write_bytes(data)
    with Log.open(directory, damage="hole", check_all=True) as opened:
        (hole,) = opened.holes
        with pytest.raises(HoleError) as caught:
            opened.get(hole.start_offset)
        assert caught.value.next_offset == hole.end_offset
        assert opened.get(hole.end_offset) is not None


def test_damage_is_told(log: Log) -> None:
    directory = log.directory
    path = log.segments[1].path
    base = log.segments[1].base_offset
    log.close()
    data = bytearray(path.read_bytes())
    data[65] ^= 1
    path.write_bytes(data)
    with Log.open(directory) as opened, pytest.raises(CorruptBatchError):
        opened.get(base)


@pytest.mark.parametrize("wrong", ["1", 1.0, None, True])
def test_it_takes_whole_numbers(readable: Readable, wrong: int) -> None:
    with pytest.raises(TypeError, match="pass a whole number"):
        readable.get(wrong)


def test_a_reader_names_who_looks_up_keys(log: Log) -> None:
    with pytest.raises(ReadOnlyError, match=r"no index of keys; ask the process that writes the log"):
        Log.reader(log.directory).get(key=b"any")
