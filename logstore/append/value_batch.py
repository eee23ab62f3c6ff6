"""A batch of values alone, without keys and headers: what most lists that are appended hold.

All that comes before a value, up to the end of the value before, is one of few byte strings, by the value's length and
its place in the batch. So a batch is put together by C code alone, without a turn of the interpreter for each value.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from struct import Struct
from typing import Final

from logstore.batch.batch_attributes import NO_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from logstore.batch.layout import (
    CRC_AT,
    CRC_START,
    HEADER,
    LAST_OFFSET_DELTA_AT,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC,
    RECORD_COUNT_AT,
)
from logstore.batch.record_encoder import encode_varint
from logstore.checksum import crc32c

_MOST_LENGTHS: Final = 1 << 11
"""Values that are shorter are encoded by table."""
_MOST_VALUES: Final = 1 << 10
"""Batches of no more values are."""
_ONE_BYTE: Final = 1 << 6
"""Offset deltas below take one byte, all others here two."""
_REST: Final = 4
"""Bytes of a value's record besides three numbers and the value: attributes, time, no key, no headers."""
_NO_HEADERS: Final = b"\0"
_TIME: Final = b"\0\0"
"""No attributes, and no difference to the batch's first time."""
_NO_KEY: Final = b"\1"

_HEADER: Final = HEADER.pack(
    0, 0, NO_LEADER_EPOCH, MAGIC, 0, 0, 0, 0, 0, NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE, 0
)
_EMPTY: Final = bytearray()
_pack_int32: Final = Struct(">i").pack_into
_pack_times: Final = Struct(">iqq").pack_into
"""The last offset delta, and the first and largest time, which follow it."""
_pack_crc: Final = Struct(">I").pack_into


def encode_value_batch(values: Sequence[bytes], timestamp: int) -> bytearray | None:
    """Encode values as a batch with offset deltas from 0 on, all of one time in milliseconds since 1970 UTC.

    None where there are too many of them, or one is too long, for the tables.
    """
    count = len(values)
    if count == 1:
        return _encode_one(values[0], timestamp)
    lengths = [*map(len, values)]
    if count > _MOST_VALUES or max(lengths) >= _MOST_LENGTHS:
        return None
    length = lengths[0]
    if lengths.count(length) == count:
        parts = [_HEADER] * (2 * count + 2)
        parts[1:-1:2] = _before_equal_values(length, count)
        parts[2::2] = values
    else:
        parts = [_HEADER] * (4 * count + 2)
        parts[1:-1:4] = _heads(lengths)
        parts[2:-1:4] = _varints()[:count]
        parts[3:-1:4] = map(_tails().__getitem__, lengths)
        parts[4::4] = values
    parts[-1] = _NO_HEADERS
    return _seal(_EMPTY.join(parts), count, timestamp)


def _encode_one(value: bytes, timestamp: int) -> bytearray | None:
    length = len(value)
    if length >= _MOST_LENGTHS:
        return None
    return _seal(_EMPTY.join((_HEADER, _before_only_value(length), value, _NO_HEADERS)), 1, timestamp)


def _seal(data: bytearray, count: int, timestamp: int) -> bytearray:
    """Fill in the header of a batch."""
    _pack_int32(data, LENGTH_AT, len(data) - LOG_OVERHEAD)
    _pack_times(data, LAST_OFFSET_DELTA_AT, count - 1, timestamp, timestamp)
    _pack_int32(data, RECORD_COUNT_AT, count)
    _pack_crc(data, CRC_AT, crc32c(memoryview(data)[CRC_START:]))
    return data


@lru_cache(maxsize=64)
def _before_only_value(length: int) -> bytes:
    """Return what comes before the value of a batch of one. A short program does without the tables."""
    size = encode_varint(length)
    return encode_varint(_REST + 1 + len(size) + length) + _TIME + encode_varint(0) + _NO_KEY + size


@lru_cache(maxsize=64)
def _before_equal_values(length: int, count: int) -> tuple[bytes, ...]:
    """Return what comes before each of so many values of one length."""
    small = _varints()
    heads, tail = _heads([length] * count), _tails()[length]
    return tuple(head + small[number] + tail for number, head in enumerate(heads))


def _heads(lengths: list[int]) -> list[bytes]:
    """Return what comes before each record's offset delta, the end of the record before it included."""
    heads = [*map(_heads_by_length(1).__getitem__, lengths[:_ONE_BYTE])]
    heads[0] = heads[0][len(_NO_HEADERS) :]
    if len(lengths) > _ONE_BYTE:
        heads += map(_heads_by_length(2).__getitem__, lengths[_ONE_BYTE:])
    return heads


@cache
def _heads_by_length(delta_bytes: int) -> tuple[bytes, ...]:
    """By the length of a value: the end of the record before, and a record's length, attributes and time."""
    small = _varints()
    sizes = (_REST + delta_bytes + len(small[length]) + length for length in range(_MOST_LENGTHS))
    return tuple(_NO_HEADERS + encode_varint(size) + _TIME for size in sizes)


@cache
def _tails() -> tuple[bytes, ...]:
    """By the length of a value: no key, and that length."""
    return tuple(_NO_KEY + each for each in _varints())


@cache
def _varints() -> tuple[bytes, ...]:
    return tuple(map(encode_varint, range(_MOST_LENGTHS)))
