"""Encoding: what goes in comes out of `RecordBatch.records`, by whichever way it is encoded."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch.compiling.awaited_kernel import AwaitedKernel
from logstore.append.encoding import encode_batch, encode_columns, encode_values
from logstore.append.value_batch import encode_value_batch
from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import TimestampType
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.batches import read_batches
from logstore.batch.columns import RecordColumns
from logstore.batch.compression.codec import Codec
from logstore.batch.layout import HEADER_SIZE
from logstore.batch.record import Header, Record
from logstore.kernels.column_scan import scan
from logstore.kernels.decode import decode
from tests.logstore import batches

TIMES = st.integers(-1, 2**62)
CONTENT = st.none() | st.binary(max_size=300)
HEADERS = st.lists(st.builds(Header, st.text(max_size=4), st.none() | st.binary(max_size=9)), max_size=3).map(tuple)
RECORDS = st.lists(st.builds(Record, st.just(0), TIMES, CONTENT, CONTENT, HEADERS), min_size=1, max_size=12)
CODECS = st.sampled_from(Codec)


def numbered(records: list[Record], base_offset: int = 0) -> list[Record]:
    return [Record(base_offset + i, each.timestamp, *fields(each)) for i, each in enumerate(records)]


def fields(record: Record) -> tuple[bytes | None, bytes | None, tuple[Header, ...]]:
    return record.key, record.value, record.headers


def decoded(data: bytes | bytearray | memoryview) -> list[Record]:
    out = []
    for batch in read_batches(memoryview(data)):
        batch.ensure_valid()
        out += batch.records()
    return out


def columns(data: bytes | bytearray) -> RecordColumns:
    array = np.frombuffer(data, np.uint8)
    return decode(array, scan(array, check_crc=True))


@given(RECORDS, CODECS, st.integers(0, 2**62))
def test_records_come_back_with_consecutive_offsets(records: list[Record], codec: Codec, base_offset: int) -> None:
    data = encode_batch(records, BatchTemplate(base_offset=base_offset, codec=codec))
    assert decoded(data) == numbered(records, base_offset)


@given(RECORDS)
def test_a_batch_is_byte_for_byte_what_the_format_says(records: list[Record]) -> None:
    times = [each.timestamp for each in records]
    expected = batches.batch(
        records=[
            batches.record(
                offset_delta=i,
                timestamp_delta=each.timestamp - times[0],
                key=each.key,
                value=each.value,
                headers=[(header.key.encode(), header.value) for header in each.headers],
            )
            for i, each in enumerate(records)
        ],
        leader_epoch=-1,
        base_timestamp=times[0],
        max_timestamp=max(times),
    )
    assert encode_batch(records) == expected


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=200), CODECS)
def test_values_alone_are_encoded_as_records_of_them(values: list[bytes], codec: Codec) -> None:
    given, template = tuple(values), BatchTemplate(codec=codec)
    data = encode_batch(given, template)
    [now] = {record.timestamp for record in decoded(data)}
    assert data == encode_batch([Record.of(value, timestamp=now) for value in values], template)


@given(
    st.lists(st.integers(0, 2_050) | st.integers(0, 80), min_size=1, max_size=80)
    | st.tuples(st.sampled_from([0, 1, 57, 58, 63, 64, 2_047, 2_048]), st.integers(1, 1_030)).map(
        lambda each: [each[0]] * each[1]
    )
)
def test_a_producer_s_values_are_encoded_by_table_as_any_records_are(sizes: list[int]) -> None:
    values = [bytes([number % 251]) * size for number, size in enumerate(sizes)]
    data = encode_batch(values)
    [now] = {record.timestamp for record in decoded(data)}
    assert data == encode_batch([Record.of(value, timestamp=now) for value in values])
    assert (encode_value_batch(values, now) is None) == (len(sizes) > 1_024 or max(sizes) > 2_047)


@pytest.mark.parametrize("size", [0, 58, 63, 64, 8_100, 8_185, 8_191, 8_192, 70_000])
@pytest.mark.parametrize("count", [1, 65, 9_000])
def test_values_of_any_size_and_number_are(size: int, count: int) -> None:
    values = [bytes(size), *[b"v"] * (count - 1)]
    data = encode_batch(values)
    section = RecordBatch(memoryview(data)).section()
    assert bytes(section) == b"".join(batches.record(offset_delta=i, value=value) for i, value in enumerate(values))


@pytest.mark.parametrize("records", [[b"value"], [Record.of(b"value")]])
def test_a_template_that_no_header_has_room_for_is_refused(records: list[Record | bytes]) -> None:
    with pytest.raises(ValueError, match="has a number that a batch has no room for"):
        encode_batch(records, BatchTemplate(producer_epoch=1 << 15))


def test_values_among_records_are_records_without_a_key() -> None:
    record = Record(0, 7, b"key", b"record", (Header("k", b"v"),))
    first, second, third, fourth = decoded(encode_batch([b"first", record, bytearray(b"third"), memoryview(b"fourth")]))
    assert [first.value, third.value, fourth.value] == [b"first", b"third", b"fourth"]
    assert fields(second) == fields(record)
    assert {first.key, third.key, fourth.key} == {None}


@given(RECORDS, CODECS, st.sampled_from([100, 300, 16 << 10]))
def test_columns_are_encoded_as_their_records_are(records: list[Record], codec: Codec, batch_bytes: int) -> None:
    plain = encode_batch(records)
    template = BatchTemplate(base_offset=7, codec=codec, leader_epoch=3)
    data = encode_columns(columns(plain), template=template, batch_bytes=batch_bytes)
    assert decoded(data) == numbered(records, 7)
    if batch_bytes > len(plain):
        assert data == encode_batch(records, template)


@given(RECORDS, CODECS, st.sampled_from([1, 75, 100, 300, 16 << 10]), st.integers(0, 5))
def test_they_are_the_same_bytes_without_kernels_and_where_those_come_in_the_middle(
    records: list[Record], codec: Codec, batch_bytes: int, come_after: int
) -> None:
    given_columns, template = columns(encode_batch(records)), BatchTemplate(5, 3, codec, base_sequence=2**31 - 2)
    answers = [None] * (come_after + 1)
    with patch.object(AwaitedKernel, "ready", lambda self, _: answers.pop() if answers else self.get()):
        made = encode_columns(given_columns, template=template, batch_bytes=batch_bytes)
    assert made == encode_columns(given_columns, template=template, batch_bytes=batch_bytes)


@given(RECORDS, st.integers(70, 900))
def test_batches_hold_as_many_records_as_fit_and_no_more(records: list[Record], batch_bytes: int) -> None:
    data = encode_columns(columns(encode_batch(records)), batch_bytes=batch_bytes)
    made = [batch for batch in read_batches(data) if isinstance(batch, RecordBatch)]
    for batch, following in zip(made, [*made[1:], None], strict=True):
        assert batch.size <= batch_bytes or batch.record_count == 1
        if following is not None:
            first = encode_batch(list(following.records())[:1])
            assert batch.size + len(first) - HEADER_SIZE + 16 > batch_bytes  # deltas take a few bytes more or less


@given(st.lists(st.tuples(CONTENT, CONTENT, TIMES), max_size=30), CODECS)
def test_lists_come_back(rows: list[tuple[bytes | None, bytes | None, int]], codec: Codec) -> None:
    keys, values = [row[0] for row in rows], [row[1] for row in rows]
    times = np.array([row[2] for row in rows], np.int64)
    data = encode_values(values, times, keys=keys, template=BatchTemplate(codec=codec), batch_bytes=200)
    assert decoded(data) == [Record(i, row[2], row[0], row[1]) for i, row in enumerate(rows)]


def test_one_timestamp_may_stand_for_all_and_keys_may_be_left_out() -> None:
    assert decoded(encode_values([b"a", None], 5)) == [Record(0, 5, None, b"a"), Record(1, 5, None, None)]


def test_nothing_encodes_to_nothing_but_a_batch_has_records() -> None:
    assert encode_values([], 5) == b""
    with pytest.raises(ValueError, match="without records"):
        encode_batch([])


def test_as_many_keys_as_values_are_needed() -> None:
    with pytest.raises(ValueError, match="1 keys"):
        encode_values([b"a", b"b"], 5, keys=[b"k"])


def test_offsets_and_sequence_numbers_go_on_from_batch_to_batch_and_sequence_numbers_start_over() -> None:
    for codec in (Codec.NONE, Codec.LZ4):
        template = BatchTemplate(
            base_offset=100,
            codec=codec,
            producer_id=4,
            producer_epoch=2,
            base_sequence=2**31 - 3,
            is_transactional=True,
        )
        made = list(read_batches(encode_values([b"x"] * 4, 5, template=template, batch_bytes=75)))
        assert [(each.base_offset, each.base_sequence) for each in made] == [
            (100, 2**31 - 3),
            (101, 2**31 - 2),
            (102, 2**31 - 1),
            (103, 0),
        ]
        assert all(each.is_transactional and each.producer_id == 4 and each.producer_epoch == 2 for each in made)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_the_leader_may_set_the_time(codec: Codec) -> None:
    template = BatchTemplate(codec=codec, append_timestamp=99)
    for data in (encode_batch([Record(0, 5, None, b"v")], template), encode_values([b"v"], 5, template=template)):
        (batch,) = read_batches(memoryview(data))
        assert (batch.timestamp_type, batch.base_timestamp) == (TimestampType.LOG_APPEND_TIME, 5)
        assert [record.timestamp for record in batch.records()] == [99]


def test_offsets_end_at_the_largest() -> None:
    last = BatchTemplate(base_offset=2**63 - 2)
    assert decoded(encode_batch([Record(0, 5, None, None)], last))[0].offset == 2**63 - 2
    with pytest.raises(OverflowError):
        encode_batch([Record(0, 5, None, None)] * 2, last)
    with pytest.raises(OverflowError):
        encode_values([b"v"] * 2, 5, template=last)


@pytest.mark.parametrize("name", ["key_start", "value_start", "headers_start"])
@pytest.mark.parametrize("position", [-1, 79, 2**63 - 1])
@pytest.mark.parametrize("ready", [AwaitedKernel.ready, lambda *_: None], ids=["kernels", "plain"])
def test_columns_that_point_out_of_their_data_are_an_error(name: str, position: int, ready: Callable[..., Any]) -> None:
    good = columns(encode_batch([Record(0, 5, b"key", b"value", (Header("h", b"v"),))]))
    bad = {each: getattr(good, each) for each in RecordColumns.__slots__}
    bad[name] = np.array([position])
    with patch.object(AwaitedKernel, "ready", ready), pytest.raises(ValueError, match="record 0"):
        encode_columns(RecordColumns(**{**bad, "data": good.data[:80]}))
