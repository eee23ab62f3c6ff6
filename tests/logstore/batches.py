"""Build record batches of magic 2 byte by byte, right ones and wrong ones: plain Python, no code of the project.

data = batch(records=[record(value=b"a"), record(offset_delta=1, value=None)], base_offset=7)
"""

import struct
from collections.abc import Iterable, Sequence

import crc32c

NO_CODEC, GZIP, SNAPPY, LZ4, ZSTD = range(5)
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20

Headers = Sequence[tuple[bytes, bytes | None]]


def unsigned_varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint(value: int, bits: int = 64) -> bytes:
    """A signed varint as Kafka writes it: zigzag, so that small negative numbers are short too."""
    return unsigned_varint((value << 1 ^ value >> (bits - 1)) & ((1 << bits) - 1))


def nullable(content: bytes | None) -> bytes:
    """A length, -1 for null, and the bytes."""
    return varint(-1) if content is None else varint(len(content)) + content


def record(
    *,
    offset_delta: int = 0,
    timestamp_delta: int = 0,
    key: bytes | None = None,
    value: bytes | None = b"",
    headers: Headers = (),
    attributes: int = 0,
    header_count: int | None = None,
    length: int | None = None,
) -> bytes:
    """One record; `length` and `header_count` may be made to lie."""
    body = bytes([attributes]) + varint(timestamp_delta) + varint(offset_delta) + nullable(key) + nullable(value)
    body += varint(len(headers) if header_count is None else header_count)
    for name, content in headers:
        body += varint(len(name)) + name + nullable(content)
    return varint(len(body) if length is None else length) + body


def batch(
    *,
    records: Iterable[bytes] = (),
    section: bytes | None = None,
    base_offset: int = 0,
    leader_epoch: int = 0,
    magic: int = 2,
    attributes: int = 0,
    last_offset_delta: int | None = None,
    base_timestamp: int = 1_000,
    max_timestamp: int = 1_000,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    record_count: int | None = None,
    length: int | None = None,
    crc: int | None = None,
) -> bytes:
    """One batch. `section` replaces the joined records (compressed, say); every header field may be made to lie."""
    records = list(records)
    section = b"".join(records) if section is None else section
    count = len(records) if record_count is None else record_count
    checked = (
        struct.pack(
            ">hiqqqhii",
            (attributes + 0x8000) % 0x1_0000 - 0x8000,  # bit 15 is the sign
            max(len(records) - 1, 0) if last_offset_delta is None else last_offset_delta,
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            count,
        )
        + section
    )
    crc = crc32c.crc32c(checked) if crc is None else crc
    length = 9 + len(checked) if length is None else length
    return struct.pack(">qiibI", base_offset, length, leader_epoch, magic, crc) + checked


def simple_batch(base_offset: int = 0, values: Sequence[bytes | None] = (b"value",), *, leader_epoch: int = 0) -> bytes:
    """A batch of records that have only values."""
    return batch(
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        records=[record(offset_delta=i, value=value) for i, value in enumerate(values)],
    )


def log(batches: int, records_each: int = 3, *, value_size: int = 20, leader_epoch: int = 0) -> bytes:
    """Consecutive simple batches from offset 0 on."""
    return b"".join(
        simple_batch(i * records_each, [bytes([i & 0xFF]) * value_size] * records_each, leader_epoch=leader_epoch)
        for i in range(batches)
    )
