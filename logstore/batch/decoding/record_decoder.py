"""Records of magic 2 (KIP-98), decoded one by one in plain Python: for few records, or where no kernel is wanted.

A record is a varint length and that many bytes: attributes, varint deltas of timestamp and offset, the key and the
value with varint lengths (negative: null), and the headers. All varints are zigzag.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from logstore.batch.record import Header, Record
from logstore.errors import CorruptRecordError

_VARINT_BITS: Final = 35
_VARLONG_BITS: Final = 70
_RANGE: Final = 2**63
_ANY_NUMBER: Final = 2**31
_MORE: Final = 0x80
_LOW: Final = 0x7F
"""Of a varint's byte: whether another follows, and its part of the number."""


class RecordFields(NamedTuple):
    """A record as it is encoded."""

    timestamp_delta: int
    offset_delta: int
    start: int
    """Where the key begins, and with it what no leader changes."""
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    end: int


def decode_records(
    data: bytes, *, count: int, base_offset: int, base_timestamp: int, append_timestamp: int | None
) -> Iterator[Record]:
    """Decode `count` records that fill `data` exactly.

    `append_timestamp` stands for every record's own timestamp where the leader set it. Raises CorruptRecordError at
    the first record that cannot be, with the number of the record in its message.
    """
    for timestamp_delta, offset_delta, _, key, value, headers, _ in read_all_fields(data, count):
        timestamp = wrapping(base_timestamp + timestamp_delta) if append_timestamp is None else append_timestamp
        yield Record(wrapping(base_offset + offset_delta), timestamp, key, value, headers)


def read_all_fields(data: bytes, count: int, *, with_headers: bool = True) -> Iterator[RecordFields]:
    """Read `count` records that fill `data` exactly. Raises what `decode_records` raises."""
    position = 0
    for number in range(count):
        try:
            found = read_fields(data, position, with_headers=with_headers)
        except IndexError:
            raise CorruptRecordError(f"record {number} of {count} ends beyond its batch") from None
        except CorruptRecordError as error:
            raise CorruptRecordError(f"record {number} of {count}: {error.what}") from None
        position = found.end
        yield found
    if position != len(data):
        raise CorruptRecordError(f"{len(data) - position:,} bytes follow the last of {count} records")


def wrapping(value: int) -> int:
    """Keep a sum within 64 bits: damaged deltas wrap around, in Kafka and in the kernels too."""
    return value if -_RANGE <= value < _RANGE else (value + _RANGE) % (2 * _RANGE) - _RANGE


def record_end(data: bytes, position: int) -> int:
    """Return where the record at `position` ends, beyond the data where that is not all of it.

    Raises CorruptRecordError for a length that no record has.
    """
    try:
        length, start = _read_varint(data, position, _VARINT_BITS)
    except IndexError:
        return len(data) + 1
    if length < 0:
        raise CorruptRecordError(f"its length is {length:,}")
    return start + length


def pass_over(data: bytes, count: int) -> int:
    """Return where so many records from the first on end, by their lengths alone.

    Raises CorruptRecordError for a length that no record has, and IndexError where they end beyond the data.
    """
    position = 0
    for _ in range(count):
        first = data[position]
        if first < _MORE:
            length, position = first, position + 1
        elif (second := data[position + 1]) < _MORE:
            length, position = first & _LOW | second << 7, position + 2
        else:
            position = record_end(data, position)
            continue
        if length & 1:
            raise CorruptRecordError("its length is negative")
        position += length >> 1
    return position


def read_fields(
    data: bytes, position: int, *, with_headers: bool = True, most_headers: int = _ANY_NUMBER
) -> RecordFields:
    """Read the record at `position`; its headers are checked also where they are left out.

    Raises CorruptRecordError, and IndexError where it ends beyond the data.
    """
    length, position = _read_varint(data, position, _VARINT_BITS)
    if not 0 <= length <= len(data) - position:
        raise CorruptRecordError(f"its length is {length:,}, but {len(data) - position:,} bytes are left")
    end = position + length
    timestamp_delta, position = _read_varint(data, position + 1, _VARLONG_BITS)
    offset_delta, start = _read_varint(data, position, _VARINT_BITS)
    key, position = _read_nullable(data, start, end)
    value, position = _read_nullable(data, position, end)
    header_count, position = _read_varint(data, position, _VARINT_BITS)
    headers: tuple[Header, ...] = ()
    if header_count > most_headers:
        raise CorruptRecordError(f"it has {header_count:,} headers, and may have {most_headers:,}")
    if header_count and with_headers:
        headers, position = _read_headers(data, position, end, header_count)
    elif header_count:
        position = skip_headers(data, position, end, header_count)
    if position != end:
        raise CorruptRecordError(f"its length is {length:,}, but its fields end {position - end:+,} bytes from there")
    return RecordFields(timestamp_delta, offset_delta, start, key, value, headers, end)


def _read_headers(data: bytes, position: int, end: int, count: int) -> tuple[tuple[Header, ...], int]:
    _ensure_headers(count, end - position)
    headers = []
    for _ in range(count):
        key, position = _read_nullable(data, position, end)
        if key is None:
            raise CorruptRecordError("a header has no key")
        value, position = _read_nullable(data, position, end)
        headers.append(Header(key.decode(errors="replace"), value))
    return tuple(headers), position


def skip_headers(data: bytes, position: int, end: int, count: int) -> int:
    """Return where so many headers end. Raises CorruptRecordError, IndexError."""
    _ensure_headers(count, end - position)
    for _ in range(count):
        length, position = _read_varint(data, position, _VARINT_BITS)
        if length < 0:
            raise CorruptRecordError("a header has no key")
        length, position = _read_varint(data, _end_of_field(position, length, end), _VARINT_BITS)
        position = _end_of_field(position, max(length, 0), end)
    return position


def _ensure_headers(count: int, left: int) -> None:
    # Each header takes two bytes at least, so a count that passes cannot make a loop long.
    if not 0 <= count <= left // 2:
        raise CorruptRecordError(f"it cannot have {count:,} headers")


def _end_of_field(position: int, length: int, end: int) -> int:
    if length > end - position:
        raise CorruptRecordError(f"a field of {length:,} bytes begins {end - position:,} bytes before its end")
    return position + length


def _read_nullable(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = _read_varint(data, position, _VARINT_BITS)
    if length < 0:
        return None, position
    following = _end_of_field(position, length, end)
    return data[position:following], following


def _read_varint(data: bytes, position: int, bits: int) -> tuple[int, int]:
    """Read a zigzag varint of at most `bits` bits, seven a byte; IndexError where the data ends before it does."""
    byte = data[position]
    if byte < 0x80:
        return byte >> 1 ^ -(byte & 1), position + 1
    value = byte & 0x7F
    for shift in range(7, bits, 7):
        position += 1
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFF_FFFF if bits == _VARINT_BITS else 0xFFFF_FFFF_FFFF_FFFF
            return value >> 1 ^ -(value & 1), position + 1
    raise CorruptRecordError("a number takes more bytes than any can")
