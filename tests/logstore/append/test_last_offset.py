"""Offsets have 63 bits: a log takes what it can end after, and is as sound there as anywhere."""

from collections.abc import Callable
from pathlib import Path

import pytest

from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Record
from logstore.errors import InvalidRecordError
from logstore.log.log import Log
from logstore.log_config import LogConfig
from tests.logstore.batch.test_legacy_batch import message
from tests.logstore.directories import GAPS, assert_sound

LAST = 2**63 - 2
"""The last record's offset: the log's end is one more, and the largest number that there is room for."""
SHORT, LONG = b"value", bytes(9_000)


def sent(records: int, value: bytes = SHORT, **template: int) -> bytearray:
    """What a producer sends."""
    return encode_batch([Record.of(value)] * records, BatchTemplate(**template))


def fetched(offset: int, value: bytes = SHORT, **template: int) -> bytearray:
    """What a leader has written at this offset, even at one that none can write to."""
    data = sent(1, value, leader_epoch=3, **template)
    data[:8] = offset.to_bytes(8)
    return data


def lead(data: bytearray, **arguments: object) -> Callable[[Log], object]:
    return lambda log: log.append(data, **arguments)  # type: ignore[arg-type]  as each test gives them


def follow(*batches: bytes | bytearray) -> Callable[[Log], object]:
    return lambda log: log.append_batches(b"".join(batches))


BEYOND: dict[str, Callable[[Log], object]] = {
    "two records": lead(sent(2)),
    "two large records": lead(sent(2, LONG)),
    "two compressed records": lead(sent(2, codec=Codec.GZIP)),
    "two records of an idempotent producer": lead(sent(2, producer_id=7, producer_epoch=0, base_sequence=0)),
    "two records of a new epoch": lead(sent(2), leader_epoch=4),
    "a fetched batch": follow(fetched(LAST + 1)),
    "a large fetched batch": follow(fetched(LAST + 1, LONG)),
    "two fetched batches": follow(fetched(LAST), fetched(LAST + 1)),
    "two large fetched batches": follow(fetched(LAST, LONG), fetched(LAST + 1, LONG)),
    "a fetched batch of an idempotent producer": follow(
        fetched(LAST + 1, producer_id=7, producer_epoch=0, base_sequence=0)
    ),
    "a message of magic 1": follow(message(LAST + 1, b"value")),
}


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = Log.open(tmp_path / "t-0", LogConfig(compression_type="producer"))
    log.truncate_fully_and_start_at(LAST - 1)
    log.append(sent(1), leader_epoch=3)
    assert log.log_end_offset == LAST
    return log


@pytest.mark.parametrize("append", BEYOND)
def test_no_append_reaches_beyond_the_last_offset(log: Log, append: str) -> None:
    before = log.epochs.entries, log.size
    told = "would end at offset 9,223,372,036,854,775,807, and a log ends at 9,223,372,036,854,775,807 at most"
    with pytest.raises(InvalidRecordError, match=told):
        BEYOND[append](log)
    assert (log.log_end_offset, log.failure) == (LAST, None)
    assert (log.epochs.entries, log.size) == before


@pytest.mark.parametrize("append", [lead(sent(1)), follow(fetched(LAST)), follow(fetched(LAST, LONG))])
def test_a_log_may_end_after_the_last_offset(log: Log, append: Callable[[Log], object]) -> None:
    append(log)
    log.roll()
    with pytest.raises(InvalidRecordError):
        log.append(sent(1), leader_epoch=3)
    assert log.update_high_watermark(2**70) == LAST + 1
    log.close()
    assert_sound(log.directory, log.log_start_offset, expected=GAPS)
    with Log.open(log.directory) as again:
        assert (again.log_start_offset, again.log_end_offset) == (LAST - 1, LAST + 1)
        assert [record.offset for record in again.read(LAST, 1).records()] == [LAST]
        assert again.delete_records(LAST)
        assert again.truncate_to(LAST)
        assert again.append(sent(1), leader_epoch=4).last_offset == LAST, "of what was in epoch 3 a record is gone"


def test_a_log_that_is_full_goes_on_at_a_lower_offset(log: Log) -> None:
    log.append(sent(1))
    log.truncate_fully_and_start_at(0)
    assert log.append(sent(1)).last_offset == 0


@pytest.mark.parametrize("offset", [-1, 2**63 - 1, 2**63, 2**64])
def test_no_log_goes_on_where_nothing_could_be_appended(log: Log, offset: int) -> None:
    with pytest.raises(ValueError, match=f"a log cannot continue at offset {offset:,}: pass one from 0 on and below"):
        log.truncate_fully_and_start_at(offset)
    assert (log.log_start_offset, log.log_end_offset, log.failure) == (LAST - 1, LAST, None)


@pytest.mark.parametrize("start", [-1, 11, 2**63, 2**64])
def test_no_log_starts_before_0_or_after_its_end(log: Log, start: int) -> None:
    with pytest.raises(ValueError, match=f"a log cannot start at {start:,} and continue at 10: pass one from 0 to 10"):
        log.truncate_fully_and_start_at(10, start)
    assert (log.log_start_offset, log.log_end_offset, log.failure) == (LAST - 1, LAST, None)
    log.truncate_fully_and_start_at(10, 10)
    assert (log.log_start_offset, log.log_end_offset) == (10, 10)
