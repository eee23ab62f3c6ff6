"""Records as columns: the same as decoded one by one in plain Python, and the same faults."""

import dataclasses
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.batch.columns import RecordColumns
from logstore.batch.record_fault import RecordFault, RecordFaultReason
from logstore.errors import CorruptRecordError
from logstore.kernels.column_scan import scan
from logstore.kernels.decode import decode, decode_chunks, decode_section
from logstore.kernels.record_checks import check_records, check_sections
from logstore.kernels.record_parts import decode_parts
from tests.campaign import Campaign
from tests.logstore.batches import CONTROL, GZIP, LOG_APPEND_TIME, batch, log, record, unsigned_varint, varint
from tests.logstore.kernels import twins
from tests.logstore.kernels.guarded import guarded
from tests.logstore.kernels.sizes import EXAMPLES, FUZZED
from tests.logstore.kernels.strategies import ODD_BATCHES, SOUND_BATCHES, damaged

LOGS = st.lists(SOUND_BATCHES | ODD_BATCHES, max_size=4).map(b"".join)


def rows(columns: RecordColumns) -> list[twins.RecordRow]:
    of = [getattr(columns, field.name).tolist() for field in dataclasses.fields(columns)[1:]]
    return [twins.RecordRow(*row) for row in zip(*of, strict=True)]


def agrees_with_its_twin(data: bytes) -> int:
    """Decode and check what a scan finds; return how many records there are."""
    array = guarded(data)
    batches = scan(array, check_crc=False)
    headers = twins.scan(data, 0, check_crc=False, capacity=len(data))[0]
    faults, records, readable = [], [], True
    for index, header in enumerate(headers):
        if header.attributes & 7:
            continue
        start, end = header.position + 61, header.position + header.size
        fault = twins.check_section(data, start, end, header)
        if fault is not None:
            faults.append(RecordFault(index, *fault))
        try:
            expected = twins.read_section(data, start, end, index, header)
        except twins.BadRecordError:
            readable = False
            with pytest.raises(CorruptRecordError) as told:
                decode(array, batches, np.array([index]))
            with pytest.raises(CorruptRecordError, match=re.escape(str(told.value))):
                next(decode_parts(array, batches, index, start, end, records=2))
        else:
            assert rows(decode(array, batches, np.array([index]))) == expected
            parts = [rows(part) for part in decode_parts(array, batches, index, start, end, records=2)]
            assert parts == [expected[first : first + 2] for first in range(0, len(expected), 2)]
            records += expected
    assert check_records(array, batches) == faults
    if readable:
        assert rows(decode(array, batches)) == records
    return len(records)


@settings(max_examples=EXAMPLES)
@given(LOGS)
def test_records_equal_their_twin(data: bytes) -> None:
    agrees_with_its_twin(data)


@settings(max_examples=EXAMPLES)
@given(damaged(LOGS))
def test_damaged_records_equal_their_twin(data: bytes) -> None:
    agrees_with_its_twin(data)


# Where a number takes one byte more, on either side of zero.
LENGTHS = [None, 0, 1, 63, 64, 8191, 8192]
DELTAS = [0, 1, 63, 64, -64, -65, 8191, 8192, -8192, -8193, 2**31 - 1, -(2**31)]


@pytest.mark.parametrize("key", LENGTHS)
@pytest.mark.parametrize("value", LENGTHS)
def test_fields_of_all_lengths_equal_their_twin(key: int | None, value: int | None) -> None:
    def of(length: int | None) -> bytes | None:
        return None if length is None else bytes(length)

    sized = record(key=of(key), value=of(value))
    # The last of all is read with a look at where the bytes end, and those before it without.
    assert agrees_with_its_twin(batch(records=[sized, sized], last_offset_delta=1) * 2) == 4


@pytest.mark.parametrize("timestamp_delta", [*DELTAS, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("offset_delta", DELTAS)
def test_deltas_of_all_lengths_equal_their_twin(timestamp_delta: int, offset_delta: int) -> None:
    far = record(timestamp_delta=timestamp_delta, offset_delta=offset_delta)
    assert agrees_with_its_twin(batch(records=[far, far], last_offset_delta=2**31 - 1) * 2) == 4


def test_fuzzed_records_equal_their_twin() -> None:
    campaign = Campaign("record kernels on damaged bytes", full=100_000, share=FUZZED)
    chance = random.Random(campaign.seed)
    headers = [(b"name", b"value"), (b"", None)]
    sound = b"".join(
        batch(base_offset=i, records=[record(offset_delta=j, key=b"k", headers=headers) for j in range(2)])
        for i in range(0, 6, 2)
    )
    decoded = 0
    for _ in range(campaign.count):
        data = bytearray(sound)
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(len(data))] = chance.choice([chance.randrange(256), 0x80, 0xFF, 0x01])
        decoded += agrees_with_its_twin(bytes(data))
    assert decoded > campaign.count, "damage that leaves nothing readable tests little"
    campaign.report(campaign.count)


def test_fields_are_where_the_columns_say() -> None:
    data = batch(
        base_offset=100,
        base_timestamp=5_000,
        records=[
            record(key=b"key", value=b"value", timestamp_delta=-7),
            record(offset_delta=3, key=None, value=None, headers=[(b"h", b"x"), (b"h", None)]),
        ],
    )
    array = np.frombuffer(data, np.uint8)
    records = decode(array, scan(array, check_crc=True))
    assert records.offset.tolist() == [100, 103]
    assert records.timestamp.tolist() == [4_993, 5_000]
    assert data[records.key_start[0] :][: records.key_length[0]] == b"key"
    assert data[records.value_start[0] :][: records.value_length[0]] == b"value"
    assert (records.key_length[1], records.value_length[1], records.header_count[1]) == (-1, -1, 2)
    assert data[records.headers_start[1] :] == varint(1) + b"h" + varint(1) + b"x" + varint(1) + b"h" + varint(-1)


def test_log_append_time_stands_for_each_record_s_own() -> None:
    records = [record(timestamp_delta=i, offset_delta=i) for i in range(3)]
    data = np.frombuffer(batch(attributes=LOG_APPEND_TIME, max_timestamp=9_999, records=records), np.uint8)
    assert decode(data, scan(data, check_crc=True)).timestamp.tolist() == [9_999] * 3


def test_control_records_are_records_and_compressed_or_old_batches_are_left_out() -> None:
    data = batch(attributes=GZIP, section=b"not gzip", record_count=9) + batch(attributes=CONTROL, records=[record()])
    array = np.frombuffer(data, np.uint8)
    batches = scan(array, check_crc=True)
    assert decode(array, batches).batch.tolist() == [1]
    assert check_records(array, batches) == []
    legacy = dataclasses.replace(batches, magic=np.array([1, 1], np.int8))
    assert len(decode(array, legacy)) == 0


def test_decompressed_records_are_those_of_their_batch() -> None:
    section = record(offset_delta=0) + record(offset_delta=4, value=b"last")
    data = np.frombuffer(
        batch() + batch(base_offset=10, attributes=GZIP, section=b"?", record_count=2, last_offset_delta=4), np.uint8
    )
    batches = scan(data, check_crc=True)
    records = decode_section(guarded(section), batches, 1)
    assert (records.batch.tolist(), records.offset.tolist()) == ([1, 1], [10, 14])
    assert section[records.value_start[1] :][: records.value_length[1]] == b"last"
    one, whole = (np.array([1]), np.array([0])), np.array([len(section)])
    assert check_sections(guarded(section), batches, *one, whole) == []
    cut = RecordFault(1, 7, RecordFaultReason.LENGTH)
    assert check_sections(guarded(section[:-1]), batches, *one, whole - 1) == [cut]


@pytest.mark.parametrize(
    ("records", "count", "last_offset_delta", "fault"),
    [
        ([record(length=5)], 1, 0, (61, RecordFaultReason.LENGTH)),
        ([record(length=7)], 1, 0, (61, RecordFaultReason.LENGTH)),
        ([record(length=-1)], 1, 0, (61, RecordFaultReason.LENGTH)),
        ([record(length=2**31 - 1)], 1, 0, (61, RecordFaultReason.LENGTH)),
        ([b"\xff" * 7], 1, 0, (61, RecordFaultReason.LENGTH)),
        ([record(header_count=1)], 1, 0, (61, RecordFaultReason.FIELDS)),
        ([record(header_count=2**31 - 1)], 1, 0, (61, RecordFaultReason.FIELDS)),
        ([record(header_count=-1)], 1, 0, (61, RecordFaultReason.FIELDS)),
        ([varint(6) + b"\0" + b"\xff" * 5], 1, 0, (61, RecordFaultReason.FIELDS)),
        ([varint(6) + b"\0\0\0" + varint(2) + b"ab"], 1, 0, (61, RecordFaultReason.FIELDS)),
        ([varint(6) + b"\0\0\0" + varint(2) + b"ab\xff"], 1, 0, (61, RecordFaultReason.FIELDS)),
        ([record() + b"\0"], 1, 0, (68, RecordFaultReason.COUNT)),
        ([record()], 2, 1, (68, RecordFaultReason.COUNT)),
        ([record()], 0, 0, (61, RecordFaultReason.COUNT)),
        ([record(), record(offset_delta=2)], 2, 1, (68, RecordFaultReason.OFFSET_RANGE)),
        ([record(offset_delta=-1)], 1, 0, (61, RecordFaultReason.OFFSET_RANGE)),
        ([record(), record()], 2, 1, (68, RecordFaultReason.OFFSET_ORDER)),
    ],
)
def test_each_fault_has_its_place_and_reason(
    records: list[bytes], count: int, last_offset_delta: int, fault: tuple[int, RecordFaultReason]
) -> None:
    bad = batch(records=records, record_count=count, last_offset_delta=last_offset_delta)
    good = batch(records=[record()])
    data = guarded(good + bad + good + bad)
    batches = scan(data, check_crc=True)
    expected = [RecordFault(row, int(batches.position[row]) + fault[0], fault[1]) for row in (1, 3)]
    assert check_records(data, batches) == expected
    assert check_records(data, batches, np.array([0, 2])) == []


def test_a_count_that_cannot_be_allocates_nothing() -> None:
    data = np.frombuffer(batch(record_count=2**31 - 1, section=bytes(700)), np.uint8)
    with pytest.raises(CorruptRecordError, match="impossible count at position 61, offset 0") as caught:
        decode(data, scan(data, check_crc=True))
    assert (caught.value.position, caught.value.offset) == (61, 0)


def test_numbers_of_any_length_are_read_as_kafka_reads_them() -> None:
    # Padded with continuation bytes, and with bits beyond 32 that are dropped.
    def padded(offset_delta: bytes) -> bytes:
        body = b"\0" + varint(0) + offset_delta + varint(-1) + varint(-1) + varint(0)
        return batch(records=[varint(len(body)) + body], last_offset_delta=2**31 - 1)

    def offset(offset_delta: bytes) -> int:
        data = guarded(padded(offset_delta))
        return int(decode(data, scan(data, check_crc=True)).offset[0])

    assert offset(unsigned_varint(6)) == 3
    assert offset(b"\x86\x80\x80\x80\x00") == 3
    assert offset(b"\x86\x80\x80\x80\x70") == 3
    assert offset(unsigned_varint(2**32 - 2)) == 2**31 - 1
    with pytest.raises(CorruptRecordError):
        offset(b"\x86\x80\x80\x80\x80\x00")


@pytest.mark.parametrize("records", [1, 4, 5, 1000])
def test_chunks_add_up_to_the_whole(records: int) -> None:
    data = np.frombuffer(log(batches=10, records_each=3), np.uint8)
    batches = scan(data, check_crc=True)
    chunks = list(decode_chunks(data, batches, records=records))
    assert max(map(len, chunks)) <= records + 3
    assert [row for chunk in chunks for row in rows(chunk)] == rows(decode(data, batches))


def test_rows_that_do_not_belong_to_the_data_are_refused_not_read() -> None:
    data = guarded(log(batches=3))
    batches = scan(data, check_crc=True)
    shorter = guarded(log(batches=2))
    assert [fault.batch for fault in check_records(shorter, batches)] == [2]
    with pytest.raises(CorruptRecordError):
        decode(shorter, batches)
