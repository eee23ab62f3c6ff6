"""What is passed by mistake is refused by name before anything changes, and the log goes on."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.errors import InvalidRecordError
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT, OffsetCheckpoint
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile
from logstore.topic_partition import TopicPartition
from tests.logstore.directories import assert_sound

RECORDS = [Record.of(b"value")]
END = 6


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = Log.open(tmp_path / "t-0")
    for _ in range(END):
        log.append(RECORDS, leader_epoch=1)
    log.update_high_watermark(4)
    return log


def content(log: Log) -> tuple[object, ...]:
    offsets = log.log_start_offset, log.high_watermark, log.log_end_offset
    return (*offsets, log.epochs.entries, log.segments[-1].path.read_bytes())


def append(**arguments: Any) -> Callable[[Any], object]:
    return lambda log: log.append(RECORDS, **arguments)


NO_NUMBERS = ("2", 2.0, 1.5, True, None, [2])
TAKE_A_NUMBER: dict[str, Callable[[Any, Any], object]] = {
    "update_high_watermark": lambda log, number: log.update_high_watermark(number),
    "truncate_to": lambda log, number: log.truncate_to(number),
    "truncate_fully_and_start_at": lambda log, number: log.truncate_fully_and_start_at(number),
    "truncate_fully_and_start_at later": lambda log, number: log.truncate_fully_and_start_at(9, number or "2"),
    "delete_records": lambda log, number: log.delete_records(number),
    "assign_epoch": lambda log, number: log.assign_epoch(number, END),
    "assign_epoch at": lambda log, number: log.assign_epoch(2, number),
}


TAKE_TRUE_OR_FALSE: dict[str, Callable[[Any, Any], object]] = {
    "durable": lambda log, given: log.append(RECORDS, durable=given),
    "commit": lambda log, given: log.append_end_transaction(7, 0, commit=given),
    "new_epoch": lambda log, given: log.producer(7, new_epoch=given),
    "min_one_batch": lambda log, given: log.read(0, 10, min_one_batch=given),
    "check_crc": lambda log, given: LogFile.open(log.segments[-1].path).scan(check_crc=given),
    "periodic": lambda log, given: LogDirectory.open(log.directory.parent / "root", periodic=given),
    "takes_lower_epochs": lambda _, given: LogConfig(takes_lower_epochs=given),
}


@pytest.mark.parametrize("given", ["yes", "", 1, 0, None, [True]], ids=repr)
@pytest.mark.parametrize("call", TAKE_TRUE_OR_FALSE)
def test_what_is_neither_true_nor_false_is_refused(log: Log, call: str, given: object) -> None:
    before = content(log)
    told = re.escape(f"{call} is {given!r}, of type {type(given).__name__}: pass True or False")
    with pytest.raises(TypeError, match=f"^{told}$"):
        TAKE_TRUE_OR_FALSE[call](log, given)
    assert (content(log), log.failure) == (before, None)
    assert not (log.directory.parent / "root").exists()
    assert log.append(RECORDS, durable=True).result().first_offset == END


@pytest.mark.parametrize("number", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("call", TAKE_A_NUMBER)
def test_what_is_no_whole_number_is_refused(log: Log, call: str, number: object) -> None:
    before = content(log)
    with pytest.raises(TypeError, match=r"of type (str|float|bool|NoneType|list): pass a whole number"):
        TAKE_A_NUMBER[call](log, number)
    assert (content(log), log.failure) == (before, None)
    assert log.append(RECORDS).first_offset == END
    log.close()
    assert_sound(log.directory)
    assert OffsetCheckpoint.read(log.directory / HIGH_WATERMARK_CHECKPOINT) == {TopicPartition("t", 0): 4}


def test_whole_numbers_of_other_types_are_taken(log: Log) -> None:
    assert log.update_high_watermark(np.int64(5)) == 5  # type: ignore[arg-type]  numpy's know how to be one
    assert log.truncate_to(np.int64(5))  # type: ignore[arg-type]  as before
    assert log.append(RECORDS, leader_epoch=np.int32(3)).first_offset == 5  # type: ignore[arg-type]  as before
    assert log.epochs.entries == [(1, 0), (3, 5)]
    log.close()
    assert_sound(log.directory)


@pytest.mark.parametrize("epoch", ["1", "2", 1.0, 1.5, 2.0, [1]], ids=repr)
def test_a_leader_epoch_is_a_whole_number(log: Log, epoch: object) -> None:
    before = content(log)
    with pytest.raises(TypeError, match=r"leader_epoch is .*, of type (str|float|list): pass a whole number"):
        append(leader_epoch=epoch)(log)
    assert (content(log), log.failure) == (before, None)


@pytest.mark.parametrize("epoch", [-2, 2**31, 2**63])
def test_a_leader_epoch_is_one_that_a_leader_can_have(log: Log, epoch: int) -> None:
    before = content(log)
    with pytest.raises(ValueError, match=r"leader_epoch is [0-9,-]+: pass one from 0 to 2,147,483,647"):
        append(leader_epoch=epoch)(log)
    assert (content(log), log.failure) == (before, None)


def test_a_truth_value_is_no_new_leader_epoch(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log, pytest.raises(TypeError, match="leader_epoch is True, of type bool"):
        append(leader_epoch=True)(log)
    assert log.log_end_offset == 0


@pytest.mark.parametrize("template", [1, {}, {"codec": "gzip"}], ids=repr)
def test_a_template_is_a_template(log: Log, template: object) -> None:
    before = content(log)
    with pytest.raises(TypeError, match=r"the template is of type (int|dict): pass a BatchTemplate"):
        append(template=template)(log)
    assert (content(log), log.failure) == (before, None)


@pytest.mark.parametrize("isolation", ["LOG_END", "high_watermark", None, 1])
def test_an_isolation_is_one_of_its_names(log: Log, isolation: Any) -> None:
    with pytest.raises(TypeError, match=r"the isolation is .*: pass Isolation.LOG_END"):
        log.read(0, 100, isolation=isolation)


READ: dict[str, Callable[[Any, Any], object]] = {
    "offset": lambda log, number: log.read(number, 100),
    "max_bytes": lambda log, number: log.read(0, number),
    "timestamp": lambda log, number: log.offset_for_timestamp(number),
    "epoch": lambda log, number: log.end_offset_for_epoch(number),
}


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("number", ["2", None, [2], 1.0, True], ids=repr)
def test_a_read_names_what_is_no_number(log: Log, name: str, number: object) -> None:
    with pytest.raises(TypeError, match=rf"^{name} is .*, of type (str|NoneType|list|float|bool): pass a whole number"):
        READ[name](log, number)


def test_no_epoch_below_none_is_answered(log: Log) -> None:
    assert log.end_offset_for_epoch(-1) is None
    with pytest.raises(ValueError, match="epoch is -4: pass one from 0 on"):
        log.end_offset_for_epoch(-4)


@pytest.mark.parametrize("origin", ["CLIENT", "client", None, 0], ids=repr)
def test_an_origin_is_one_of_its_names(log: Log, origin: object) -> None:
    before = content(log)
    with pytest.raises(TypeError, match=r"the origin is .*: pass AppendOrigin.CLIENT"):
        append(origin=origin)(log)
    assert (content(log), log.failure) == (before, None)


WRONG_MARKERS: list[tuple[str, object]] = [
    *((name, number) for name in ("producer_id", "producer_epoch", "coordinator_epoch") for number in ("7", 7.0, -1)),
    *(("producer_id", 2**63), ("producer_epoch", 2**15), ("coordinator_epoch", 2**40)),
    *(("transaction_version", number) for number in ("2", 1.0, 3, -1)),
]


@pytest.mark.parametrize(("name", "number"), WRONG_MARKERS)
def test_a_transaction_is_ended_by_numbers_that_a_coordinator_can_have(log: Log, name: str, number: object) -> None:
    before = content(log)
    numbers: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, name: number}
    told = rf"^{name} is .*: pass (a whole number|one from 0 to [0-9,]+)"
    with pytest.raises(TypeError if isinstance(number, (str, float)) else ValueError, match=told):
        log.append_end_transaction(commit=True, **numbers)
    assert (content(log), log.failure) == (before, None)
    log.append_end_transaction(2**63 - 1, 2**15 - 1, commit=True, coordinator_epoch=2**31 - 1, transaction_version=2)


@pytest.mark.parametrize("timestamp", [-2, -(2**63) - 1, 2**63, 2**70])
def test_a_record_has_a_timestamp_that_kafka_takes(log: Log, timestamp: int) -> None:
    before = content(log)
    records = [Record.of(b"value"), Record.of(b"value", timestamp=timestamp)]
    with pytest.raises(ValueError, match=r"record 1: its timestamp is -?[0-9,]+: pass milliseconds .* or -1 for none"):
        log.append(records)
    assert (content(log), log.failure) == (before, None)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**70])
def test_a_template_has_numbers_that_a_batch_has_room_for(log: Log, number: int) -> None:
    before = content(log)
    with pytest.raises(ValueError, match="producer epochs 16"):
        log.append(RECORDS, template=BatchTemplate(producer_id=number))
    assert (content(log), log.failure) == (before, None)


@pytest.mark.parametrize("config", [{}, {"segment_bytes": 5}, 1], ids=repr)
def test_a_configuration_is_a_log_config(tmp_path: Path, config: Any) -> None:
    with pytest.raises(TypeError, match=r"the configuration is of type (dict|int): pass LogConfig\(segment_bytes"):
        Log.open(tmp_path / "t-0", config)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", ["64", 1e6, True, None], ids=repr)
@pytest.mark.parametrize("name", ["segment_bytes", "retention_bytes", "flush_messages"])
def test_sizes_and_times_are_whole_numbers(name: str, number: Any) -> None:
    with pytest.raises(TypeError, match=f"{name} is .*: pass a whole number"):
        LogConfig(**{name: number})


@pytest.mark.parametrize("offset", ["2", 2.5, None, True], ids=repr)
def test_no_offset_checkpoint_gets_what_is_no_offset(tmp_path: Path, offset: Any) -> None:
    path = tmp_path / HIGH_WATERMARK_CHECKPOINT
    known = OffsetCheckpoint({TopicPartition("orders", 2): 7})
    known.write(path)
    with pytest.raises(TypeError, match=r"the offset of orders-3 is .*: pass a whole number"):
        OffsetCheckpoint(known | {TopicPartition("orders", 3): offset}).write(path)
    assert OffsetCheckpoint.read(path) == known


@pytest.mark.parametrize(
    "data",
    [b"", b"hello", bytearray(b"hello"), memoryview(b"hello")],
    ids=["no bytes", "bytes", "bytearray", "memoryview"],
)
def test_a_leader_refuses_bytes_that_hold_no_batch(log: Log, data: bytes) -> None:
    before = content(log)
    told = rf"{len(data)} bytes do not hold a whole batch at offset 6; pass records, such as \[Record.of"
    with pytest.raises(InvalidRecordError, match=told):
        log.append(data, leader_epoch=3)
    assert (content(log), log.failure) == (before, None)


def test_a_leader_refuses_a_batch_that_is_cut_off(log: Log, tmp_path: Path) -> None:
    with Log.open(tmp_path / "other-0") as other:
        other.append(RECORDS)
        batch = other.segments[0].path.read_bytes()
    with pytest.raises(InvalidRecordError, match=f"{len(batch) - 1} bytes do not hold a whole batch"):
        log.append(batch[:-1])
    assert log.append(batch).first_offset == END


def test_a_follower_leaves_out_what_is_no_whole_batch(log: Log) -> None:
    for data in (b"", b"hello"):
        assert log.append_batches(data).size == 0
    with pytest.raises(TypeError, match="leader_epoch is '1'"):
        log.append_batches(b"hello" * 20, leader_epoch="1")  # type: ignore[arg-type]  on purpose
