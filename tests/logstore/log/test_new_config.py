"""A log that is given another configuration goes by it from the next call on."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.batches import read_batches
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Record
from logstore.errors import InvalidRecordError, RecordBatchTooLargeError
from logstore.log.log import Log
from logstore.log_config import LogConfig, TimestampType

NOW = 1_700_000_000_000
Append = Callable[[Log], object]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """A log whose appends have taken their short ways already."""
    log = Log.open(tmp_path / "t-0", clock=lambda: NOW)
    for _ in range(3):
        lead(log)
        follow(log)
    return log


def lead(log: Log) -> None:
    log.append([Record(0, NOW - 5, None, b"v" * 1_000)], leader_epoch=0)


def follow(log: Log) -> None:
    template = BatchTemplate(base_offset=log.log_end_offset, leader_epoch=0)
    log.append_batches(encode_batch([Record(0, NOW - 5, None, b"v" * 1_000)], template))


def last_batch(log: Log) -> Any:
    return list(read_batches(log.read(log.log_end_offset - 1, 1 << 20).data))[-1]


def test_compression(log: Log) -> None:
    log.config = LogConfig(compression_type="lz4")
    lead(log)
    assert last_batch(log).codec is Codec.LZ4


def test_the_type_of_timestamps(log: Log) -> None:
    log.config = LogConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME)
    lead(log)
    assert last_batch(log).max_timestamp == NOW


def test_compaction_which_asks_for_keys(log: Log) -> None:
    log.config = LogConfig(cleanup_policy=frozenset({"compact"}))
    with pytest.raises(InvalidRecordError, match="key"):
        lead(log)


@pytest.mark.parametrize("append", [lead, follow])
def test_the_size_of_segments(log: Log, append: Append) -> None:
    end = log.log_end_offset
    log.config = LogConfig(segment_bytes=5_000)
    append(log)
    assert [segment.base_offset for segment in log.segments] == [0, end]
    with pytest.raises(RecordBatchTooLargeError):
        log.append([Record(0, NOW, None, b"v" * 6_000)], leader_epoch=0)


@pytest.mark.parametrize("append", [lead, follow])
def test_the_age_of_segments(log: Log, append: Append) -> None:
    log.config = LogConfig(segment_ms=1)
    append(log)
    assert len(list(log.segments)) == 1
    log.append([Record(0, NOW, None, b"later")], leader_epoch=0)
    assert len(list(log.segments)) == 2


@pytest.mark.parametrize("append", [lead, follow])
def test_the_number_of_records_that_a_flush_waits_for(log: Log, append: Append) -> None:
    log.config = LogConfig(flush_messages=1)
    append(log)
    assert log.recovery_point == log.log_end_offset
    log.config = LogConfig()
    append(log)
    assert log.recovery_point == log.log_end_offset - 1


def test_the_delay_of_deleting(log: Log) -> None:
    log.roll()
    log.config = replace(log.config, file_delete_delay_ms=0)
    log.truncate_fully_and_start_at(100)
    assert not list(log.directory.glob("*.deleted"))


def test_none_of_another_type(log: Log) -> None:
    with pytest.raises(TypeError, match="pass a LogConfig"):
        log.config = {"segment_bytes": 5_000}  # type: ignore[assignment]
