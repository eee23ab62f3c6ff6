"""Records of magic 2 (KIP-98), encoded one by one in plain Python: the inverse of `record_decoder`."""

from collections.abc import Sequence
from functools import cache
from typing import Final

from logstore.batch.record import Header, Record

_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
_ONE_BYTE: Final = tuple(bytes([value]) for value in range(0x80))
_NULL: Final = b"\x01"
_NO_ATTRIBUTES: Final = b"\x00"
_NO_HEADERS: Final = b"\x00"
_SMALL: Final = 1 << 11
"""Most lengths and offset deltas are below this: to encode all of them takes less than a millisecond."""
_REST: Final = 4
"""Bytes of a value's record besides three numbers and the value: attributes, time, no key, no headers."""


def encode_records(records: Sequence[Record], base_timestamp: int) -> bytes:
    """Encode the records with offset deltas from 0 on, whatever their own offsets, and their own timestamps."""
    return b"".join([encode_record(delta, each.timestamp - base_timestamp, each) for delta, each in enumerate(records)])


def encode_plain_values(values: Sequence[bytes]) -> bytes:
    """Encode records of these values alone, with offset deltas from 0 on, all of the batch's first timestamp."""
    small = _small_varints()
    try:
        # In one expression: a function for each would take as long again.
        return b"".join(
            [
                b"%b\0\0%b\1%b%b\0"
                % (small[_REST + len(small[n]) + len(small[m := len(v)]) + m], small[n], small[m], v)
                for n, v in enumerate(values)
            ]
        )
    except IndexError:  # a value is large, or there are many
        return b"".join([_encode_plain(number, 0, None, value) for number, value in enumerate(values)])


@cache
def _small_varints() -> tuple[bytes, ...]:
    """Encode the numbers that a batch has most of."""
    return tuple(map(encode_varint, range(_SMALL)))


def encode_record(offset_delta: int, timestamp_delta: int, record: Record) -> bytes:
    """Encode one record's key, value and headers with these deltas."""
    if not record.headers:
        return _encode_plain(offset_delta, timestamp_delta, record.key, record.value)
    fields = [encode_nullable(record.key), encode_nullable(record.value), encode_varint(len(record.headers))]
    fields += map(_encode_header, record.headers)
    return frame_record(offset_delta, timestamp_delta, b"".join(fields))


def _encode_plain(offset_delta: int, timestamp_delta: int, key: bytes | None, value: bytes | None) -> bytes:
    """Encode a record without headers: most are, and small."""
    small = _small_varints()
    try:
        body = b"\0%b%b%b%b\0" % (
            small[timestamp_delta] if timestamp_delta >= 0 else encode_varint(timestamp_delta),
            small[offset_delta],
            _NULL if key is None else small[len(key)] + key,
            _NULL if value is None else small[len(value)] + value,
        )
        return small[len(body)] + body
    except IndexError:
        return frame_record(offset_delta, timestamp_delta, encode_nullable(key) + encode_nullable(value) + _NO_HEADERS)


def frame_record(offset_delta: int, timestamp_delta: int, fields: bytes) -> bytes:
    """Put length, attributes and deltas before a record's key, value and headers."""
    body = b"".join((_NO_ATTRIBUTES, encode_varint(timestamp_delta), encode_varint(offset_delta), fields))
    return encode_varint(len(body)) + body


def encode_nullable(content: bytes | None) -> bytes:
    """Encode a key or value: length, -1 for none, and bytes."""
    return _NULL if content is None else encode_varint(len(content)) + content


def encode_varint(value: int) -> bytes:
    r"""Encode a signed integer of up to 64 bits: zigzag, seven bits a byte, the lowest first.

    >>> encode_varint(-1), encode_varint(64)
    (b'\x01', b'\x80\x01')
    """
    rest = (value << 1 ^ value >> 63) & _MASK
    if rest < 0x80:
        return _ONE_BYTE[rest]
    out = bytearray()
    while rest >= 0x80:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _encode_header(header: Header) -> bytes:
    return encode_nullable(header.key.encode()) + encode_nullable(header.value)
