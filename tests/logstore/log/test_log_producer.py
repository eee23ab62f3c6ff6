"""What a producer of a log appends is there once, in order, whatever is repeated and whenever the log is opened."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from logstore.append.append_info import AppendInfo
from logstore.batch.record import Record
from logstore.errors import InvalidProducerEpochError, InvalidTransactionStateError
from logstore.log.log import Log
from logstore.log.log_producer import LogProducer
from logstore.log.reading.isolation import Isolation
from tests.logstore.directories import assert_sound


def values(log: Log, isolation: Isolation = Isolation.LOG_END) -> list[bytes | None]:
    log.update_high_watermark(log.log_end_offset)
    return [record.value for record in log.read(0, 1 << 20, isolation=isolation).records()]


class BrokenError(Exception):
    """Raised by a call whose work was done."""


def break_next(producer: LogProducer, log: Log, *, written: bool) -> None:
    """Let the next append raise, once the records are in the log or before."""

    class Breaking:
        def append(self, records: Sequence[Record | bytes], **arguments: Any) -> AppendInfo:
            producer._log = log
            if written:
                log.append(records, **arguments)
            raise BrokenError

        append_end_transaction = log.append_end_transaction

    producer._log = Breaking()


@pytest.mark.parametrize("written", [False, True])
def test_a_retry_after_an_error_is_written_once(tmp_path: Path, written: bool) -> None:
    with Log.open(tmp_path / "t-0") as log:
        producer = log.producer()
        producer.append([b"first"])
        break_next(producer, log, written=written)
        with pytest.raises(BrokenError):
            producer.append([b"second", b"third"])
        assert producer.append([b"second", b"third"]).is_duplicate is written
        assert not producer.append([b"second", b"third"]).is_duplicate
        assert values(log) == [b"first", b"second", b"third", b"second", b"third"]


@pytest.mark.parametrize("written", [False, True])
def test_other_records_after_an_error_are_no_retry(tmp_path: Path, written: bool) -> None:
    with Log.open(tmp_path / "t-0") as log:
        producer = log.producer()
        break_next(producer, log, written=written)
        with pytest.raises(BrokenError):
            producer.append([b"first"])
        assert not producer.append([b"other"]).is_duplicate
        assert values(log) == [b"first", b"other"][1 - written :]


@pytest.mark.parametrize("in_order", [False, True])
def test_it_goes_on_after_a_restart(tmp_path: Path, in_order: bool) -> None:
    lines = [b"line %d" % number for number in range(50)]
    while True:
        log = Log.open(tmp_path / "t-0")
        producer = log.producer(7)
        done = producer.next_sequence
        if done == len(lines):
            break
        for line in lines[done : done + 7]:
            producer.append([line])
        assert producer.last_offset == log.log_end_offset - 1
        log.close() if in_order else log.abandon()
    assert values(log) == lines
    log.close()
    assert_sound(log.directory)


def test_the_earlier_producer_of_an_id_is_refused(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        earlier = log.producer(7)
        earlier.append([b"first"])
        later = log.producer(7)
        with pytest.raises(InvalidProducerEpochError, match="another producer of id 7 has been made since"):
            earlier.append([b"second"])
        later.append([b"second"])
        assert values(log) == [b"first", b"second"]
        assert (later.producer_epoch, later.next_sequence) == (0, 2)


def test_a_new_epoch_refuses_batches_of_the_one_before(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        earlier = log.producer(7)
        earlier.append([b"first"])
        later = log.producer(7, new_epoch=True)
        earlier._is_current = lambda _: True  # as in another process, with a copy of the log
        with pytest.raises(InvalidProducerEpochError, match="writes with epoch 0"):
            earlier.append([b"second"])
        later.append([b"second"])
        assert (later.producer_epoch, later.next_sequence) == (1, 1)
    assert_sound(log.directory)


def test_producers_without_an_id_have_ids_of_their_own(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        assert [log.producer().producer_id for _ in range(3)] == [0, 1, 2]
        log.producer(9).append([b"x"])
        assert log.producer().producer_id == 10


def test_a_transaction_is_seen_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        producer = log.producer(7)
        with producer.transaction():
            producer.append([b"first"])
            assert values(log, Isolation.READ_COMMITTED) == []
            producer.append([b"second"])
            with pytest.raises(InvalidTransactionStateError), producer.transaction():
                pass
        with pytest.raises(BrokenError), producer.transaction():  # noqa: PT012  it raises after the append
            producer.append([b"never"])
            raise BrokenError
        with producer.transaction():
            pass
        producer.append([b"plain"])
        assert values(log, Isolation.READ_COMMITTED) == [b"first", b"second", b"plain"]
        assert log.last_stable_offset == log.log_end_offset
    assert_sound(log.directory)


@pytest.mark.parametrize("new_epoch", [False, True])
def test_a_transaction_that_was_left_open_is_aborted(tmp_path: Path, new_epoch: bool) -> None:
    log = Log.open(tmp_path / "t-0")
    producer = log.producer(7)
    with producer.transaction():
        producer.append([b"never"])
        log.abandon()
        log = Log.open(tmp_path / "t-0")
        producer._log = log
        producer._known = lambda: None
        producer._may_begin = log._guard.ensure_may_begin
    again = log.producer(7, new_epoch=new_epoch)
    again.append([b"plain"])
    assert values(log, Isolation.READ_COMMITTED) == [b"plain"]
    log.close()
    assert_sound(log.directory)


@pytest.mark.parametrize("wrong", ["7", 7.0, True, -1, 2**63])
def test_an_id_is_a_number_that_a_batch_has_room_for(tmp_path: Path, wrong: Any) -> None:
    with Log.open(tmp_path / "t-0") as log, pytest.raises((TypeError, ValueError), match=r"^producer_id is"):
        log.producer(wrong)
