"""ControlRecord and EndTransactionMarker: what Kafka itself writes into a log."""

import struct

import pytest

from logstore.batch.control import ControlRecord, ControlType, EndTransactionMarker
from logstore.batch.record import Record
from logstore.errors import CorruptControlRecordError
from logstore.offline.log_file import LogFile
from tests.data.replicas import replicas


def control(key: bytes | None, value: bytes | None = None) -> ControlRecord:
    return ControlRecord.of(Record(7, 0, key, value))


@pytest.mark.parametrize("number", list(range(7)))
def test_every_type_has_a_name(number: int) -> None:
    assert control(struct.pack(">hh", 0, number)).type is ControlType(number)


@pytest.mark.parametrize("number", [7, -1, 32767])
def test_an_unknown_type_stays_a_number(number: int) -> None:
    record = control(struct.pack(">hh", 0, number), b"value")
    assert (record.type, record.value) == (number, b"value")
    assert record.end_transaction_marker() is None


@pytest.mark.parametrize("kind", [ControlType.ABORT, ControlType.COMMIT])
def test_a_transaction_s_end_carries_the_coordinator_s_epoch(kind: ControlType) -> None:
    record = control(struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 42) + b"later fields")
    assert record.end_transaction_marker() == EndTransactionMarker(kind, 0, 42)


def test_other_types_end_no_transaction() -> None:
    assert control(struct.pack(">hh", 0, ControlType.LEADER_CHANGE), b"").end_transaction_marker() is None


@pytest.mark.parametrize("key", [None, b"", b"\x00\x00\x00", struct.pack(">hh", -1, 0)])
def test_a_key_that_cannot_be_is_an_error_with_its_offset(key: bytes | None) -> None:
    with pytest.raises(CorruptControlRecordError) as caught:
        control(key)
    assert caught.value.offset == 7


@pytest.mark.parametrize("value", [None, b"", b"\x00" * 5, struct.pack(">hi", -1, 0)])
def test_a_marker_without_its_value_is_an_error(value: bytes | None) -> None:
    with pytest.raises(CorruptControlRecordError):
        control(struct.pack(">hh", 0, ControlType.COMMIT), value).end_transaction_marker()


def test_the_replicas_transactions_end_in_commits_and_aborts() -> None:
    log = LogFile.open(replicas("reconciled") / "broker-1/txns-0/00000000000000000200.log")
    ends = [ControlRecord.of(record).type for each in log.batches() if each.is_control for record in each.records()]
    assert (ends.count(ControlType.COMMIT), ends.count(ControlType.ABORT)) == (4, 2)
