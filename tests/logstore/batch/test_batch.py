"""RecordBatch: the header of a batch of magic 2, and its records in plain Python."""

from collections.abc import Sequence
from contextlib import suppress

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import TimestampType
from logstore.batch.compression.codec import Codec
from logstore.batch.layout import MAGIC_AT
from logstore.batch.record import Header, Record
from logstore.errors import (
    CorruptBatchError,
    CorruptRecordError,
    DecompressionError,
    DecompressionLimitError,
    InvalidBatchHeaderError,
    TornBatchError,
)
from logstore.offline.log_file import LogFile
from tests.data.replicas import replicas
from tests.logstore.batches import CONTROL, GZIP, LOG_APPEND_TIME, TRANSACTIONAL, Headers, batch, record, simple_batch

DELETE_HORIZON = 0x40
OFFSETS = st.integers(0, 2**62)
INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
NULLABLE = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(max_size=20).map(str.encode), NULLABLE), max_size=4)


def parse(data: bytes) -> RecordBatch:
    return RecordBatch(memoryview(data))


@given(
    base_offset=OFFSETS,
    leader_epoch=INT32,
    delta=st.integers(0, 2**31 - 1),
    base_timestamp=INT64,
    max_timestamp=INT64,
    producer_id=INT64,
    producer_epoch=st.integers(-(2**15), 2**15 - 1),
    base_sequence=INT32,
    record_count=st.integers(0, 2**31 - 1),
    section=st.binary(max_size=50),
)
def test_every_header_field_is_read_as_written(section: bytes, delta: int, **fields: int) -> None:
    parsed = parse(batch(section=section, last_offset_delta=delta, **fields))
    assert {name: getattr(parsed, name) for name in fields} == fields
    assert parsed.last_offset == fields["base_offset"] + delta
    assert (parsed.position, parsed.size, parsed.magic) == (0, 61 + len(section), 2)
    assert parsed.is_valid()


@given(st.lists(st.tuples(NULLABLE, NULLABLE, HEADERS, st.integers(-1000, 10**12)), max_size=20), OFFSETS)
def test_records_are_read_as_written(
    content: Sequence[tuple[bytes | None, bytes | None, Headers, int]], base_offset: int
) -> None:
    data = batch(
        base_offset=base_offset,
        records=[
            record(offset_delta=i, key=key, value=value, headers=headers, timestamp_delta=delta)
            for i, (key, value, headers, delta) in enumerate(content)
        ],
    )
    assert list(parse(data).records()) == [
        Record(base_offset + i, 1000 + delta, key, value, tuple(Header(name.decode(), v) for name, v in headers))
        for i, (key, value, headers, delta) in enumerate(content)
    ]


def test_attributes_are_the_bits_of_the_format() -> None:
    plain = parse(batch())
    assert (plain.codec, plain.timestamp_type) == (Codec.NONE, TimestampType.CREATE_TIME)
    assert not any((plain.is_transactional, plain.is_control, plain.has_delete_horizon))
    assert parse(batch(attributes=TRANSACTIONAL)).is_transactional
    assert parse(batch(attributes=CONTROL)).is_control
    assert parse(batch(attributes=DELETE_HORIZON)).has_delete_horizon
    assert parse(batch(attributes=LOG_APPEND_TIME)).timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [parse(batch(attributes=number)).codec for number in range(8)] == [*Codec, 5, 6, 7]


def test_append_time_stands_for_every_record_s_own() -> None:
    data = batch(records=[record(timestamp_delta=5)], attributes=LOG_APPEND_TIME, max_timestamp=777)
    assert [each.timestamp for each in parse(data).records()] == [777]


@pytest.mark.parametrize(
    ("base", "delta", "last"), [(-1, 3, -1), (0, 0, 0), (10, 4, 14), (2**31 - 1, 0, 2**31 - 1), (2**31 - 1, 1, 0)]
)
def test_sequences_start_over_after_the_largest(base: int, delta: int, last: int) -> None:
    assert parse(batch(base_sequence=base, last_offset_delta=delta)).last_sequence == last


def test_a_header_key_that_is_no_text_is_read_all_the_same() -> None:
    (read,) = parse(batch(records=[record(headers=[(b"\xff", None)])])).records()
    assert read.headers == (Header("�", None),)


def test_the_checksum_covers_everything_from_the_attributes_on() -> None:
    data = simple_batch(5, [b"some value"])
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1
        try:
            valid = parse(bytes(damaged)).is_valid()
        except (TornBatchError, InvalidBatchHeaderError):
            continue
        assert valid == (position < 17), position


def test_a_failed_checksum_says_which_offsets_to_take_from_elsewhere() -> None:
    data = batch(base_offset=40, last_offset_delta=9, crc=1)
    with pytest.raises(CorruptBatchError, match="offsets 40 to 49 from another replica") as caught:
        parse(data).ensure_valid()
    assert (caught.value.position, caught.value.offset) == (0, 40)
    parse(simple_batch()).ensure_valid()


@given(st.integers(0, 60))
def test_fewer_bytes_than_a_header_are_torn(size: int) -> None:
    with pytest.raises(TornBatchError):
        parse(simple_batch()[:size])


@pytest.mark.parametrize("magic", [0, 1, 3, 127, 128, 255])
def test_bytes_of_another_magic_are_no_batch(magic: int) -> None:
    data = bytearray(simple_batch())
    data[MAGIC_AT] = magic
    with pytest.raises(InvalidBatchHeaderError, match=r"the magic byte is -?\d+, not 2"):
        parse(data)


@pytest.mark.parametrize(
    "bad",
    [
        batch(records=[record(length=1000)]),
        batch(records=[record(length=-1)]),
        batch(records=[record(length=0)]),
        batch(records=[record(value=b"abc", length=8)]),
        batch(records=[record(value=b"abc", length=10)]),
        batch(records=[record(header_count=1)]),
        batch(records=[record(header_count=-1)]),
        batch(records=[record(header_count=2**31 - 1)]),
        batch(records=[record()], record_count=2),
        batch(records=[record(), record()], record_count=1),
        batch(records=[record()], record_count=2**31 - 1),
        batch(section=b"\xff" * 100, record_count=1),
        batch(section=b"\x80" * 100, record_count=1),
        batch(section=b"\x0e\x00\x00\x00\xfe\xff\xff\xff\x0f\x00", record_count=1),
    ],
)
def test_records_that_cannot_be_are_an_error_with_the_batch_s_place(bad: bytes) -> None:
    with pytest.raises(CorruptRecordError) as caught:
        list(parse(bad).records())
    assert (caught.value.position, caught.value.offset) == (0, 0)


def test_a_field_that_leaves_its_record_is_named() -> None:
    key_of_100_bytes = b"\x12\x00\x00\x00\xc8\x01abcd"
    with pytest.raises(CorruptRecordError, match="a field of 100 bytes"):
        list(parse(batch(section=key_of_100_bytes + bytes(200), record_count=1)).records())


def test_records_before_the_bad_one_are_given() -> None:
    good_then_bad = parse(batch(records=[record(value=b"good"), record(offset_delta=1, length=1000)])).records()
    assert next(good_then_bad).value == b"good"
    with pytest.raises(CorruptRecordError, match="record 1 of 2"):
        next(good_then_bad)


def test_compressed_records_are_limited() -> None:
    section = bytes(cramjam.gzip.compress(record(value=bytes(100_000))))
    data = batch(section=section, attributes=GZIP, record_count=1)
    assert len(next(parse(data).records()).value or b"") == 100_000
    with pytest.raises(DecompressionLimitError) as caught:
        list(parse(data).records(limit=50_000))
    assert caught.value.position == 0


def test_an_unknown_codec_is_an_error() -> None:
    with pytest.raises(DecompressionError, match="codec 5"):
        list(parse(batch(attributes=5)).records())


def test_every_codec_is_among_the_replicas() -> None:
    segments = (replicas("diverged") / "broker-1/codecs-0").glob("*.log")
    assert {each.codec for path in segments for each in LogFile.open(path).batches()} == set(Codec)


def test_a_batch_in_the_middle_of_a_buffer_is_read_from_its_position() -> None:
    data = b"x" * 7 + simple_batch(3, [b"v"])
    inside = RecordBatch(memoryview(data), 7, "some.log")
    assert (inside.position, inside.base_offset) == (7, 3)
    assert next(inside.records()).value == b"v"
    assert inside.is_valid()


@given(
    values=st.lists(st.binary(max_size=90) | st.integers(8_000, 9_000).map(bytes), min_size=1, max_size=8),
    kept=st.integers(0, 255),
    attributes=st.sampled_from([0, GZIP, LOG_APPEND_TIME]),
)
def test_a_record_by_its_offset_is_the_one_that_reading_all_finds(
    values: list[bytes], kept: int, attributes: int
) -> None:
    """Lengths of one, two and three bytes; compaction may have removed some."""
    records = [
        record(offset_delta=number, timestamp_delta=number, value=value)
        for number, value in enumerate(values)
        if kept >> number & 1
    ]
    plain = b"".join(records)
    section = bytes(cramjam.gzip.compress(plain)) if attributes == GZIP else plain
    rest = {"record_count": len(records), "last_offset_delta": len(values) - 1, "attributes": attributes}
    parsed = parse(batch(base_offset=70, section=section, **rest))
    by_offset = {each.offset: each for each in parsed.records()}
    assert {offset: parsed.record_at(offset) for offset in range(70, 70 + len(values))} == {
        offset: by_offset.get(offset) for offset in range(70, 70 + len(values))
    }


@given(section=st.binary(max_size=60), count=st.integers(1, 6), number=st.integers(0, 5))
def test_a_record_by_its_offset_in_bytes_that_are_none_is_one_of_them_or_an_error(
    section: bytes, count: int, number: int
) -> None:
    parsed = parse(batch(section=section, record_count=count, last_offset_delta=count - 1))
    with suppress(CorruptRecordError):
        found = parsed.record_at(number)
        assert found is None or found.offset == number


def test_a_record_behind_one_that_is_damaged_within_its_length_is_read() -> None:
    damaged = bytearray(record(offset_delta=0, value=b"damaged"))
    damaged[4] ^= 0x7F
    parsed = parse(batch(records=[bytes(damaged), record(offset_delta=1, value=b"whole")]))
    with pytest.raises(CorruptRecordError):
        list(parsed.records())
    found = parsed.record_at(1)
    assert found is not None
    assert found.value == b"whole"
