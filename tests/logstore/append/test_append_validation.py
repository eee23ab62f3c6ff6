"""Validating appends: what test_append_against_kafka leaves open."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.append.append_validation import BULK_BYTES, validate_for_follower, validate_for_leader
from logstore.append.encoding import encode_batch
from logstore.batch.append_origin import AppendOrigin
from logstore.batch.batch import RecordBatch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec, compress
from logstore.batch.layout import seal
from logstore.batch.record import Record
from logstore.errors import (
    CorruptBatchError,
    DecompressionError,
    InvalidBatchHeaderError,
    InvalidRecordError,
    InvalidTimestampError,
    OffsetsOutOfOrderError,
    RecordTooLargeError,
    UnexpectedAppendOffsetError,
)
from logstore.log_config import LogConfig
from tests.logstore import batches

NOW = 5_000
CONFIG = LogConfig()


def lead(data: bytes | bytearray, config: LogConfig = CONFIG) -> RecordBatch:
    append = validate_for_leader(data, next_offset=100, leader_epoch=7, now_ms=NOW, config=config)
    (batch,) = append.batches
    assert isinstance(batch, RecordBatch)
    batch.ensure_valid()
    assert (append.first_offset, append.last_offset) == (batch.base_offset, batch.last_offset)
    assert append.max_timestamp == batch.max_timestamp
    return batch


def records(count: int) -> list[Record]:
    return [Record(0, 1_000 + i, b"k%d" % i, b"v" * i) for i in range(count)]


@pytest.mark.parametrize("count", [1, 3, 200])
@pytest.mark.parametrize("target", ["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("source", Codec)
def test_the_leader_gives_offsets_epoch_and_codec_and_keeps_the_records(source: Codec, target: str, count: int) -> None:
    sent = encode_batch(records(count), BatchTemplate(codec=source, producer_id=3, producer_epoch=1, base_sequence=9))
    before = bytes(sent)
    batch = lead(sent, LogConfig(compression_type=target))
    assert sent == before
    assert batch.codec == (source if target == "producer" else Codec[target.upper()] if target != "uncompressed" else 0)
    assert (batch.base_offset, batch.leader_epoch, batch.producer_id, batch.base_sequence) == (100, 7, 3, 9)
    expected = [Record(100 + i, each.timestamp, each.key, each.value) for i, each in enumerate(records(count))]
    assert list(batch.records()) == expected


@pytest.mark.parametrize(("codec", "fast", "slow"), [("gzip", "1", "9"), ("zstd", "-100", "19")])
def test_the_leader_compresses_at_the_level_that_is_set(codec: str, fast: str, slow: str) -> None:
    sent = encode_batch([Record(0, 1, None, b"the quick brown fox " * 9 + bytes([i])) for i in range(99)])
    of_levels = [
        lead(sent, LogConfig.of({"compression.type": codec, f"compression.{codec}.level": level}))
        for level in (fast, slow)
    ]
    assert of_levels[0].size > of_levels[1].size
    assert [list(each.records()) for each in of_levels] == [list(lead(sent).records())] * 2


def test_an_empty_append_writes_nothing() -> None:
    for data in (b"", bytes(encode_batch(records(2)))[:-1]):
        assert validate_for_leader(data, next_offset=0, leader_epoch=0, now_ms=0, config=CONFIG).batches == ()
        assert validate_for_follower(data, next_offset=0, leader_epoch=0).batches == ()


def test_compressed_records_with_odd_offsets_are_numbered_anew() -> None:
    """Kafka fails here with an UnsupportedOperationException."""
    odd = b"".join([batches.record(offset_delta=4, value=b"a"), batches.record(offset_delta=1, value=b"b")])
    sent = batches.batch(records=[b"", b""], section=compress(Codec.ZSTD, odd), attributes=batches.ZSTD)
    assert [(each.offset, each.value) for each in lead(sent).records()] == [(100, b"a"), (101, b"b")]


def test_a_producers_log_append_time_is_not_the_leaders() -> None:
    stamped = encode_batch(records(3), BatchTemplate(append_timestamp=4_000))
    assert [each.timestamp for each in lead(stamped).records()] == [1_000, 1_001, 1_002]
    with pytest.raises(InvalidTimestampError, match="LogAppendTime"):
        lead(stamped, LogConfig.of({"message.timestamp.type": "LogAppendTime"}))


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_with_log_append_time_every_record_has_the_leaders(codec: Codec) -> None:
    batch = lead(
        encode_batch(records(3), BatchTemplate(codec=codec)), LogConfig.of({"message.timestamp.type": "LogAppendTime"})
    )
    assert {each.timestamp for each in batch.records()} == {NOW}


def test_a_compacted_log_needs_keys() -> None:
    with pytest.raises(InvalidRecordError, match="record 1 has no key"):
        lead(
            encode_batch([Record(0, 1, b"k", None), Record(0, 1, None, b"v")]),
            LogConfig(cleanup_policy=frozenset({"compact"})),
        )


def test_a_batch_that_recompression_makes_too_large_is_refused() -> None:
    small = encode_batch([Record(0, 1, None, bytes(5_000))], BatchTemplate(codec=Codec.GZIP))
    config = LogConfig(max_message_bytes=1_000)
    lead(small, config)
    with pytest.raises(RecordTooLargeError, match="max_message_bytes"):
        lead(small, LogConfig(max_message_bytes=1_000, compression_type="uncompressed"))


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(DecompressionError, match="codec 6"):
        lead(batches.batch(records=[batches.record()], attributes=6))


def test_message_sets_are_refused() -> None:
    data = bytearray(encode_batch(records(1)))
    data[16] = 1
    with pytest.raises(InvalidRecordError, match="magic 1"):
        lead(data)


def test_a_coordinator_may_write_control_records_and_clients_may_not() -> None:
    marker = encode_batch([Record(0, 1, bytes(4), bytes(6))], BatchTemplate(is_control=True, is_transactional=True))
    with pytest.raises(InvalidRecordError, match="control"):
        lead(marker)
    append = validate_for_leader(
        marker,
        next_offset=5,
        leader_epoch=0,
        now_ms=NOW,
        config=LogConfig(compression_type="lz4"),
        origin=AppendOrigin.COORDINATOR,
    )
    assert append.batches[0].codec is Codec.NONE


@given(st.binary(max_size=200), st.data())
def test_damaged_batches_raise_what_is_documented_and_nothing_else(noise: bytes, data: st.DataObject) -> None:
    damaged = bytearray(encode_batch(records(3), BatchTemplate(codec=data.draw(st.sampled_from(Codec)))))
    position = data.draw(st.integers(0, len(damaged) - 1))
    damaged[position : position + len(noise)] = noise
    if data.draw(st.booleans()) and len(damaged) > 61:
        seal(damaged)
    config = LogConfig(compression_type=data.draw(st.sampled_from(["producer", "snappy"])))
    documented = CorruptBatchError, InvalidRecordError, InvalidTimestampError, RecordTooLargeError, DecompressionError
    with suppress(*documented):
        validate_for_leader(damaged, next_offset=0, leader_epoch=0, now_ms=NOW, config=config)


@pytest.mark.parametrize("count", [2, 40])
def test_a_follower_takes_batches_as_they_are(count: int) -> None:
    data = batches.log(count, value_size=1_000)
    assert (len(data) >= BULK_BYTES) == (count == 40)
    append = validate_for_follower(data, next_offset=0, leader_epoch=0)
    assert (append.data, len(append.batches), append.last_offset) == (data, count, 3 * count - 1)
    damaged = bytearray(data)
    damaged[-1] ^= 1
    with pytest.raises(CorruptBatchError, match=f"offset {3 * count - 3}"):
        validate_for_follower(damaged, next_offset=0, leader_epoch=0)


def test_a_follower_stops_at_an_epoch_above_its_leaders() -> None:
    data = batches.log(2) + batches.simple_batch(6, leader_epoch=3) + batches.simple_batch(7)
    assert validate_for_follower(data, next_offset=0, leader_epoch=2).last_offset == 5
    assert validate_for_follower(data, next_offset=0, leader_epoch=3).last_offset == 7


def test_a_follower_refuses_offsets_that_do_not_ascend_or_that_it_has() -> None:
    with pytest.raises(OffsetsOutOfOrderError, match="offsets 0 to 0 follows one up to 3"):
        validate_for_follower(batches.simple_batch(3) + batches.simple_batch(0), next_offset=0, leader_epoch=0)
    with pytest.raises(UnexpectedAppendOffsetError) as caught:
        validate_for_follower(batches.simple_batch(3), next_offset=4, leader_epoch=0)
    assert caught.value.offset == 3


@pytest.mark.parametrize("bit", range(64))
def test_a_follower_takes_no_batch_whose_offset_has_a_flipped_bit_where_others_follow(bit: int) -> None:
    eight = [batches.record(offset_delta=delta) for delta in range(8)]
    whole = [batches.batch(records=eight, base_offset=at) for at in (0, 8, 16)]
    flipped = bytearray(whole[1])
    flipped[bit // 8] ^= 1 << bit % 8
    with pytest.raises((OffsetsOutOfOrderError, InvalidBatchHeaderError)):
        validate_for_follower(whole[0] + bytes(flipped) + whole[2], next_offset=0, leader_epoch=9)


def test_a_header_that_cannot_be_is_damage_unless_its_checksum_is_valid() -> None:
    written = batches.batch(records=[batches.record()], record_count=-1)
    with pytest.raises(InvalidRecordError, match="-1 records"):
        lead(written)
    damaged = bytearray(written)
    damaged[-1] ^= 1
    with pytest.raises(InvalidBatchHeaderError):
        lead(damaged)
