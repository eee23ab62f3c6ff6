"""What a log refuses: the error that Kafka has a name for, which names the log, and nothing is written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Header, Record
from logstore.errors import (
    AppendError,
    CorruptBatchError,
    FencedLeaderEpochError,
    InvalidBatchHeaderError,
    InvalidProducerEpochError,
    InvalidRecordError,
    InvalidTimestampError,
    InvalidTransactionStateError,
    LogStoreError,
    OffsetsOutOfOrderError,
    OutOfOrderSequenceError,
    RecordBatchTooLargeError,
    RecordTooLargeError,
    TransactionCoordinatorFencedError,
    UnexpectedAppendOffsetError,
)
from logstore.log.log import Log
from logstore.log_config import LogConfig
from tests.logstore.directories import assert_sound

NOW = 1_700_000_000_000
MINUTE = 60_000
CONFIG = LogConfig(
    max_message_bytes=1_000,
    segment_bytes=1_500,
    message_timestamp_before_max_ms=MINUTE,
    message_timestamp_after_max_ms=MINUTE,
)
END = 5
"""Where the log ends that refuses."""


def batch(*, timestamp: int = NOW, size: int = 10, **template: int | bool) -> bytearray:
    return encode_batch([Record.of(b"v" * size, timestamp=timestamp)], BatchTemplate(**template))


def changed(position: int, *content: int) -> bytearray:
    data = batch()
    data[position : position + len(content)] = bytes(content)
    return data


def at(*offsets: int) -> bytes:
    return b"".join(batch(base_offset=offset, leader_epoch=3) for offset in offsets)


def marker(coordinator_epoch: int, producer_epoch: int = 2) -> Callable[[Log], object]:
    return lambda log: log.append_end_transaction(
        7, producer_epoch, commit=True, leader_epoch=3, coordinator_epoch=coordinator_epoch
    )


def lead(data: bytearray) -> Callable[[Log], object]:
    return lambda log: log.append(data, leader_epoch=3)


def follow(data: bytes | bytearray) -> Callable[[Log], object]:
    return lambda log: log.append_batches(data)


MAGIC, MAGIC_POSITION, LAST = 3, 16, -1
REFUSED: dict[str, tuple[Callable[[Log], object], type[LogStoreError]]] = {
    "a batch above max_message_bytes": (lead(batch(size=1_000)), RecordTooLargeError),
    "more than a segment": (follow(at(*range(END, END + 30))), RecordBatchTooLargeError),
    "a wrong checksum": (lead(changed(60, 9)), CorruptBatchError),
    "a wrong checksum, fetched": (follow(changed(60, 9)), CorruptBatchError),
    "magic 1": (lead(changed(MAGIC_POSITION, 1)), InvalidRecordError),
    "an unknown magic": (lead(changed(MAGIC_POSITION, MAGIC)), InvalidBatchHeaderError),
    "an unknown magic, fetched": (follow(changed(MAGIC_POSITION, MAGIC)), InvalidBatchHeaderError),
    "a base offset": (lead(batch(base_offset=9)), InvalidRecordError),
    "two batches": (lead(batch() + batch()), InvalidRecordError),
    "offsets out of order": (follow(at(END + 1, END)), OffsetsOutOfOrderError),
    "offsets below the log's end": (follow(at(END - 1)), UnexpectedAppendOffsetError),
    "a time long ago": (lead(batch(timestamp=NOW - MINUTE - 1)), InvalidTimestampError),
    "a time to come": (lead(batch(timestamp=NOW + MINUTE + 1)), InvalidTimestampError),
    "a gap in a producer's sequence": (
        lead(batch(producer_id=7, producer_epoch=2, base_sequence=3)),
        OutOfOrderSequenceError,
    ),
    "a producer's old epoch": (
        lead(batch(producer_id=7, producer_epoch=1, base_sequence=1)),
        InvalidProducerEpochError,
    ),
    "no transaction where one is open": (
        lead(batch(producer_id=8, producer_epoch=0, base_sequence=1)),
        InvalidTransactionStateError,
    ),
    "the marker of a producer's old epoch": (marker(6, producer_epoch=1), InvalidProducerEpochError),
    "an epoch that is over": (lambda log: log.append(batch(), leader_epoch=2), FencedLeaderEpochError),
    "the marker of an old coordinator": (marker(5), TransactionCoordinatorFencedError),
}


def test_no_error_of_appends_is_left_out() -> None:
    assert set(AppendError.__subclasses__()) <= {error for _, error in REFUSED.values()}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_append_raises_kafkas_error_and_leaves_the_log_as_it_was(tmp_path: Path, case: str) -> None:
    attempt, expected = REFUSED[case]
    with Log.open(tmp_path / "t-0", CONFIG, clock=lambda: NOW) as log:
        lead(batch())(log)
        lead(batch(producer_id=7, producer_epoch=2, base_sequence=0, is_transactional=True))(log)
        marker(6)(log)
        lead(batch(producer_id=8, producer_epoch=0, base_sequence=0, is_transactional=True))(log)
        lead(batch())(log)
        assert log.log_end_offset == END
        before = contents(log)
        with pytest.raises(expected) as caught:
            attempt(log)
        assert type(caught.value) is expected
        if isinstance(caught.value, AppendError):
            assert caught.value.file == str(log.directory)
            assert caught.value.offset in {END - 1, END}
        assert contents(log) == before
        assert lead(batch())(log)
        assert log.log_end_offset == END + 1
    assert_sound(log.directory)


def contents(log: Log) -> tuple[object, ...]:
    files = {path.name: path.read_bytes() for path in log.directory.iterdir()}
    return files, log.log_end_offset, log.last_stable_offset, log.epochs.entries, len(log.segments)


RECORD = Record.of(b"value")


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ((RECORD for _ in range(2)), "the records are of type generator: pass a list"),
        ({RECORD}, "the records are of type set: pass a list"),
        (iter(()), "the records are of type tuple_iterator: pass a list"),
        (RECORD, "a single Record is no batch: pass a list"),
        ("text", "the records are of type str: pass a list"),
        (["value"], "number 0 is of type str, neither bytes nor a Record: pass a list"),
        ([RECORD, None], "number 1 is of type NoneType, neither bytes nor a Record"),
        ([b"value", 7], "number 1 is of type int, neither bytes nor a Record"),
        (
            [RECORD, RECORD._replace(value=cast("bytes", "text"))],
            "record 1: its value is of type str: pass bytes or None",
        ),
        ([RECORD._replace(value=cast("bytes", ""))], "record 0: its value is of type str: pass bytes or None"),
        ([RECORD._replace(key=cast("bytes", 7))], "record 0: its key is of type int: pass bytes or None"),
        ([RECORD._replace(timestamp=cast("int", "now"))], "record 0: its timestamp is of type str: pass millis"),
        (
            [RECORD._replace(headers=(Header("k", cast("bytes", 7)),))],
            "its header Header.* is not a str and bytes or None",
        ),
    ],
)
def test_a_wrong_type_is_told_with_what_to_pass(tmp_path: Path, records: Any, told: str) -> None:
    with Log.open(tmp_path / "t-0") as log:
        with pytest.raises(TypeError, match=told):
            log.append(records, leader_epoch=0)
        assert log.append([RECORD], leader_epoch=0).first_offset == 0


@pytest.mark.parametrize("data", [[b"value"], "text", RECORD, None, iter(b"")])
def test_so_are_batches_that_are_no_bytes(tmp_path: Path, data: Any) -> None:
    with Log.open(tmp_path / "t-0") as log:
        for _ in range(2):
            with pytest.raises(TypeError, match="cannot be appended: pass their bytes"):
                log.append_batches(data)
            log.append([RECORD], leader_epoch=0)
