"""Message sets of magic 0 and 1, compared with what Kafka's own client reads from the same files."""

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import cramjam
import pytest

from logstore.batch.batch_attributes import TimestampType
from logstore.batch.compression import codec as codecs
from logstore.batch.compression import decompressed_pieces
from logstore.batch.compression.codec import Codec
from logstore.batch.legacy_batch import LegacyBatch
from logstore.errors import CorruptRecordError, DecompressionError, DecompressionLimitError
from logstore.offline.log_file import LogFile
from tests.logstore.golden import LEGACY

FILES = sorted(path.stem for path in LEGACY.glob("*.log"))
TYPES = {
    "NoTimestampType": TimestampType.NONE,
    "CreateTime": TimestampType.CREATE_TIME,
    "LogAppendTime": TimestampType.LOG_APPEND_TIME,
}
GZIP = 1
LOG_APPEND_TIME = 8


def kafka_says(name: str) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = json.loads((LEGACY / f"{name}.json").read_text())
    return content


def message(
    offset: int,
    value: bytes | None,
    *,
    key: bytes | None = None,
    magic: int = 1,
    attributes: int = 0,
    timestamp: int = 5,
) -> bytes:
    """Build one message byte by byte."""

    def nullable(content: bytes | None) -> bytes:
        return struct.pack(">i", -1) if content is None else struct.pack(">i", len(content)) + content

    checked = struct.pack(">bb", magic, attributes) + (struct.pack(">q", timestamp) if magic else b"")
    checked += nullable(key) + nullable(value)
    return struct.pack(">qiI", offset, 4 + len(checked), zlib.crc32(checked)) + checked


def wrapped(offset: int, *inner: bytes, magic: int = 1, attributes: int = GZIP) -> LegacyBatch:
    value = bytes(cramjam.gzip.compress(b"".join(inner)))
    return LegacyBatch(memoryview(message(offset, value, magic=magic, attributes=attributes)))


@pytest.mark.parametrize("name", FILES)
def test_batches_are_as_kafka_reads_them(name: str) -> None:
    batches = list(LogFile.open(LEGACY / f"{name}.log").batches())
    assert [
        {
            "position": each.position,
            "size": each.size,
            "magic": each.magic,
            "codec": Codec(each.codec).name.lower(),
            "timestamp_type": each.timestamp_type,
            "base_offset": each.base_offset,
            "last_offset": each.last_offset,
            "max_timestamp": each.max_timestamp,
            "checksum": each.crc,
            "valid": each.is_valid(),
        }
        for each in batches
    ] == [
        {key: value for key, value in said.items() if key != "records"}
        | {"timestamp_type": TYPES[said["timestamp_type"]]}
        for said in kafka_says(name)
    ]


@pytest.mark.parametrize("name", FILES)
def test_records_are_as_kafka_reads_them(name: str) -> None:
    for each, said in zip(LogFile.open(LEGACY / f"{name}.log").batches(), kafka_says(name), strict=True):
        records = list(each.records())
        assert [
            [record.offset, record.timestamp, record.key and record.key.hex(), record.value and record.value.hex()]
            for record in records
        ] == said["records"]
        assert each.record_count == len(said["records"])


@pytest.mark.parametrize("piece", [1, 40, 1 << 20])
@pytest.mark.parametrize("path", sorted(LEGACY.glob("*.log")), ids=lambda path: path.stem)
def test_sets_that_are_too_much_to_be_decompressed_at_once_are_read_in_pieces(
    monkeypatch: pytest.MonkeyPatch, path: Path, piece: int
) -> None:
    expected = [(each.base_offset, list(each.records())) for each in LogFile.open(path).batches()]
    monkeypatch.setattr(codecs, "decompression_limit", lambda _: 0)
    monkeypatch.setattr(decompressed_pieces, "PIECE_BYTES", piece)
    assert [(each.base_offset, list(each.records())) for each in LogFile.open(path).batches()] == expected


def test_every_codec_and_both_magics_are_among_the_files() -> None:
    seen = {(said["magic"], said["codec"]) for name in FILES for said in kafka_says(name)}
    assert seen >= {(magic, codec) for magic in (0, 1) for codec in ("none", "gzip", "snappy", "lz4")}


def test_what_older_magics_lack_reads_as_absent() -> None:
    batch = LegacyBatch(memoryview(message(7, b"v", magic=0)))
    assert (batch.leader_epoch, batch.producer_id, batch.producer_epoch) == (-1, -1, -1)
    assert (batch.base_sequence, batch.last_sequence) == (-1, -1)
    assert not any((batch.is_control, batch.is_transactional, batch.has_delete_horizon))
    assert batch.timestamp_type is TimestampType.NONE


@pytest.mark.parametrize("path", sorted(LEGACY.glob("magic*.log")), ids=lambda path: path.stem)
def test_a_flipped_bit_under_the_checksum_is_noticed(path: Path) -> None:
    content = path.read_bytes()
    first = LegacyBatch(memoryview(content))
    for position in range(16, first.size):
        damaged = bytearray(content)
        damaged[position] ^= 0x10
        if position != 16:  # the magic decides how all else is read
            assert not LegacyBatch(memoryview(damaged)).is_valid()


def test_inner_offsets_of_magic_1_count_back_from_the_wrapper() -> None:
    batch = wrapped(99, message(0, b"a"), message(3, b"b"))
    assert (batch.base_offset, batch.last_offset, batch.record_count) == (96, 99, 2)


def test_inner_offsets_of_magic_0_are_absolute() -> None:
    batch = wrapped(100, message(96, b"a", magic=0), message(99, b"b", magic=0), magic=0)
    assert [record.offset for record in batch.records()] == [96, 99]


@pytest.mark.parametrize(("magic", "first"), [(1, 0), (1, 95), (0, 95)])
def test_messages_of_the_other_magic_are_read_as_kafka_does(magic: int, first: int) -> None:
    """The cleaner of Kafka 0.10.0 wrapped such (KAFKA-4298)."""
    inner = [message(first + number, b"%d" % number, magic=1 - magic) for number in range(5)]
    batch = wrapped(99, *inner, magic=magic, attributes=GZIP | (LOG_APPEND_TIME if magic else 0))
    time = -1 if magic else 5
    assert [(each.offset, each.value, each.timestamp) for each in batch.records()] == [
        (95 + number, b"%d" % number, time) for number in range(5)
    ]


def test_the_leader_s_append_time_stands_for_the_producer_s_times() -> None:
    batch = wrapped(9, message(0, b"a", timestamp=3), message(1, b"b", timestamp=4), attributes=GZIP | LOG_APPEND_TIME)
    assert [record.timestamp for record in batch.records()] == [5, 5]


@pytest.mark.parametrize(
    "batch",
    [
        wrapped(9),
        wrapped(9, message(0, b"a")[:-1]),
        wrapped(9, message(0, bytes(cramjam.gzip.compress(message(0, b"a"))), attributes=GZIP)),
        wrapped(9, message(0, b"a"), message(0, b"b")[:-1] + b"c"),
        wrapped(1, message(0, b"a"), message(2**63 - 1, b"b")),
        wrapped(0, message(0, b"a"), message(5, b"b")),
        LegacyBatch(memoryview(message(9, None, attributes=GZIP))),
    ],
    ids=["nothing", "torn", "nested", "checksum", "offset overflow", "below zero", "no value"],
)
def test_a_wrapped_set_that_cannot_be_is_an_error_with_its_place(batch: LegacyBatch) -> None:
    with pytest.raises(CorruptRecordError) as caught:
        list(batch.records())
    assert (caught.value.position, caught.value.offset) == (0, batch.last_offset)


def test_a_message_that_the_end_of_its_set_cuts_short_is_passed_over_as_by_kafka() -> None:
    for cut in (1, 20, 26):
        batch = wrapped(9, message(0, b"a"), message(1, b"b")[:-cut])
        assert [(each.offset, each.value) for each in batch.records()] == [(9, b"a")]


def test_fields_that_do_not_fit_the_message_are_an_error() -> None:
    good = message(9, b"value")
    for key_length in (2**31 - 1, 7, 1):
        bad = good[:26] + struct.pack(">i", key_length) + good[30:]
        with pytest.raises(CorruptRecordError):
            list(LegacyBatch(memoryview(bad)).records())


def test_a_wrapped_bomb_stops_at_the_limit() -> None:
    batch = wrapped(9, message(0, bytes(1 << 20)))
    with pytest.raises(DecompressionLimitError):
        list(batch.records(limit=1 << 16))
    assert len(list(batch.records())) == 1


def test_a_value_that_does_not_decompress_is_an_error() -> None:
    batch = LegacyBatch(memoryview(message(9, b"no gzip", attributes=GZIP)))
    with pytest.raises(DecompressionError):
        _ = batch.record_count


@pytest.mark.parametrize("inner", [(2**62, 0), (0, 2**62)])
def test_wrapped_offsets_that_cannot_be_are_refused(inner: tuple[int, int]) -> None:
    batch = wrapped(2**63 - 1 if inner[0] else 5, *(message(offset, b"v") for offset in inner))
    with pytest.raises(CorruptRecordError, match="offset"):
        _ = batch.record_count
    assert batch.base_offset == batch.last_offset
    columns = next(LogFile(batch.data).scan())
    assert columns.base_offset.tolist() == [batch.last_offset]
    assert columns.record_count.tolist() == [0]
