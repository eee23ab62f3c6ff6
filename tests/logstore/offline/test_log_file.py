"""LogFile: one mapped log file, walked over batch by batch or as columns."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from logstore.batch.batch import RecordBatch
from logstore.batch.columns import StopReason
from logstore.errors import InvalidBatchHeaderError, TornBatchError
from logstore.offline.batch_scan import PLAIN_BUDGET
from logstore.offline.log_file import LogFile
from tests.data.replicas import LABELS
from tests.logstore.batches import batch, log, simple_batch
from tests.logstore.golden import LEGACY, golden_segments

COLUMNS = [
    "position",
    "size",
    "base_offset",
    "last_offset",
    "leader_epoch",
    "magic",
    "attributes",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "record_count",
    "crc",
]


@pytest.fixture(autouse=True, params=[0, 10_000], ids=["kernels", "plain Python"])
def reader_of_small_logs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PLAIN_BUDGET, "batches_left", request.param)


def in_memory(data: bytes) -> LogFile:
    return LogFile(memoryview(data))


@pytest.mark.parametrize("label", LABELS)
def test_every_segment_holds_what_kafka_says(label: str) -> None:
    for segment in golden_segments(label):
        said = segment.truth
        with LogFile.open(segment.path("log")) as opened:
            batches = list(opened.batches())
            records = [record for each in batches for record in each.records()]
            digest = hashlib.sha256(opened.data[: said["valid_bytes"]]).hexdigest()
        assert all(each.is_valid() for each in batches)
        assert len(batches) == said["batches"]
        assert len(records) == said["records"] == sum(each.record_count for each in batches)
        assert (records[0].offset if records else None) == said["first_offset"]
        assert (batches[-1].last_offset if batches else None) == said["last_offset"]
        assert max((each.max_timestamp for each in batches), default=-1) == said["max_timestamp"]
        assert sum(each.size for each in batches) == said["valid_bytes"]
        assert digest == said["sha256_valid"]


@pytest.mark.parametrize("label", LABELS)
def test_record_offsets_and_timestamps_stay_within_their_batch(label: str) -> None:
    for segment in golden_segments(label):
        for each in LogFile.open(segment.path("log")).batches():
            records = list(each.records())
            offsets = [record.offset for record in records]
            assert offsets == sorted(set(offsets))
            assert not records or each.base_offset <= offsets[0]
            assert not records or offsets[-1] <= each.last_offset
            assert not records or max(record.timestamp for record in records) == each.max_timestamp


@pytest.mark.parametrize("label", LABELS)
def test_columns_say_the_same_as_batches(label: str) -> None:
    for segment in golden_segments(label):
        with LogFile.open(segment.path("log")) as opened:
            assert_columns_equal_batches(opened)


@pytest.mark.parametrize("path", sorted(LEGACY.glob("*.log")), ids=lambda path: path.stem)
def test_columns_of_older_magics_say_the_same_as_batches(path: Path) -> None:
    with LogFile.open(path) as opened:
        assert_columns_equal_batches(opened)


def assert_columns_equal_batches(opened: LogFile) -> None:
    batches = list(opened.batches())
    chunks = list(opened.scan())
    for name in COLUMNS:
        assert np.concatenate([getattr(chunk, name) for chunk in chunks]).tolist() == [
            getattr(each, name) for each in batches
        ], name
    assert np.concatenate([chunk.crc_valid for chunk in chunks]).tolist() == [each.is_valid() for each in batches]
    assert (chunks[-1].stop, chunks[-1].next_position) == (StopReason.END, opened.size)


def test_an_empty_file_has_no_batches(tmp_path: Path) -> None:
    path = tmp_path / "empty.log"
    path.touch()
    with LogFile.open(path) as opened:
        assert opened.size == 0
        assert list(opened.batches()) == []
        assert [(len(chunk), chunk.stop) for chunk in opened.scan()] == [(0, StopReason.END)]


def test_what_was_read_outlives_the_file_being_closed(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(log(3))
    with LogFile.open(path) as opened:
        batches = list(opened.batches())
        view = opened.data
    assert opened.size == 0
    assert [len(list(each.records())) for each in batches] == [3, 3, 3]
    assert bytes(view) == log(3)


def test_reading_begins_at_any_batch() -> None:
    opened = in_memory(log(5))
    second = list(opened.batches())[1]
    assert [each.base_offset for each in opened.batches(second.position)] == [3, 6, 9, 12]
    assert [chunk.base_offset.tolist() for chunk in opened.scan(second.position)] == [[3, 6, 9, 12]]


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        LogFile.open(tmp_path / "nothing.log")


@pytest.mark.parametrize(
    ("tail", "error", "stop"),
    [
        (simple_batch(6)[:40], TornBatchError, StopReason.TORN),
        (simple_batch(6)[:-1], TornBatchError, StopReason.TORN),
        (b"\x00" * 10, TornBatchError, StopReason.TORN),
        (bytes(100), InvalidBatchHeaderError, StopReason.BAD_LENGTH),
        (batch(base_offset=6, length=48), InvalidBatchHeaderError, StopReason.BAD_LENGTH),
        (batch(base_offset=6, length=-1), InvalidBatchHeaderError, StopReason.BAD_LENGTH),
        (batch(base_offset=6, magic=3), InvalidBatchHeaderError, StopReason.BAD_MAGIC),
        (batch(base_offset=6, magic=-2), InvalidBatchHeaderError, StopReason.BAD_MAGIC),
        (batch(base_offset=-6), InvalidBatchHeaderError, StopReason.BAD_HEADER),
        (batch(base_offset=6, last_offset_delta=-1), InvalidBatchHeaderError, StopReason.BAD_HEADER),
        (batch(base_offset=2**63 - 1, last_offset_delta=1), InvalidBatchHeaderError, StopReason.BAD_HEADER),
        (batch(base_offset=6, record_count=-1), InvalidBatchHeaderError, StopReason.BAD_HEADER),
    ],
    ids=lambda value: value.hex()[:40] if isinstance(value, bytes) else None,
)
def test_a_walk_ends_at_the_first_thing_that_is_no_batch(
    tmp_path: Path, tail: bytes, error: type[Exception], stop: StopReason
) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(log(2) + tail)
    opened = LogFile.open(path)
    walk = opened.batches()
    assert [next(walk).base_offset, next(walk).base_offset] == [0, 3]
    with pytest.raises(error) as caught:
        next(walk)
    assert (caught.value.file, caught.value.position) == (str(path), len(log(2)))
    assert f"position {len(log(2)):,}" in str(caught.value)
    *_, last = opened.scan()
    assert (last.stop, last.next_position) == (stop, len(log(2)))


def test_a_scan_goes_on_behind_a_failed_checksum() -> None:
    damaged = bytearray(log(3))
    damaged[len(damaged) // 2] ^= 1
    (columns,) = in_memory(bytes(damaged)).scan()
    assert columns.crc_valid.tolist() == [True, False, True]
    (unchecked,) = in_memory(bytes(damaged)).scan(check_crc=False)
    assert unchecked.crc_valid.tolist() == [True, True, True]


def test_older_and_newer_magics_follow_each_other_in_any_order() -> None:
    old, new = (LEGACY / "magic1-gzip.log").read_bytes(), simple_batch(1000)
    opened = in_memory(new + old + new + old)
    assert_columns_equal_batches(opened)
    assert isinstance(next(opened.batches()), RecordBatch)


def test_a_message_of_an_older_magic_that_cannot_be_ends_the_scan() -> None:
    old = (LEGACY / "magic1-none.log").read_bytes()
    bad = b"\xff" + old[1:]
    *_, last = in_memory(old + bad).scan()
    assert (last.stop, last.next_position) == (StopReason.BAD_HEADER, len(old))
    with pytest.raises(InvalidBatchHeaderError):
        list(in_memory(old + bad).batches())


def test_a_torn_message_of_an_older_magic_is_told_from_a_bad_one() -> None:
    old = (LEGACY / "magic1-none.log").read_bytes()
    *_, last = in_memory(old + old[:-1]).scan()
    assert last.stop is StopReason.TORN
    with pytest.raises(TornBatchError):
        list(in_memory(old + old[:-1]).batches())


def test_a_scan_tells_failed_checksums_of_older_magics_too() -> None:
    damaged = bytearray((LEGACY / "magic0-none.log").read_bytes())
    damaged[-1] ^= 1
    columns, *_ = in_memory(bytes(damaged)).scan()
    assert columns.crc_valid.tolist() == [True] * (len(columns) - 1) + [False]
    unchecked, *_ = in_memory(bytes(damaged)).scan(check_crc=False)
    assert unchecked.crc_valid.all()


def test_a_wrapped_set_that_cannot_be_read_still_has_its_row() -> None:
    content = (LEGACY / "magic1-gzip.log").read_bytes()
    damaged = bytearray(content)
    damaged[34] ^= 0xFF  # the first byte of the gzip stream
    columns, *_ = in_memory(bytes(damaged)).scan()
    assert len(columns) == 3
    assert (columns.base_offset[0], columns.last_offset[0], columns.record_count[0]) == (3, 3, 0)
