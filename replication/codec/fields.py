"""The types of fields in messages and metadata records, as flexible versions write them (KIP-482).

A length stands as an unsigned varint, one more than it is, and 0 for null. Each type has a name for annotations:

    partition_id: Int32
    isr: Annotated[OptionalInt32s, Tag(0)] = None
"""

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct, pack, unpack_from
from typing import Annotated, Any, Final, Generic, TypeVar
from uuid import UUID

T = TypeVar("T")
MAX_VARINT_SHIFT: Final = 28
_MAX_LENGTH: Final = 2**31 - 1
_UUID_SIZE: Final = 16

Writer = Callable[[bytearray, T], None]
Reader = Callable[[bytes, int], tuple[T, int]]
"""Reads at a position, and tells the one after. May raise IndexError, struct.error and ValueError."""


@dataclass(frozen=True, slots=True)
class FieldType(Generic[T]):
    """How values of one type become bytes and come back."""

    write: Writer[T]
    read: Reader[T]


def write_uvarint(out: bytearray, value: int) -> None:
    """Write seven bits a byte, the lowest first."""
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_uvarint(data: bytes, position: int) -> tuple[int, int]:
    """Read what `write_uvarint` wrote. Raises IndexError at the end, ValueError after five bytes."""
    byte = data[position]
    if byte < 0x80:
        return byte, position + 1
    value = byte & 0x7F
    for shift in range(7, MAX_VARINT_SHIFT + 1, 7):
        position += 1
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
    raise ValueError("a length or number is longer than five bytes")


def _number(letter: str) -> FieldType[Any]:
    layout = Struct(f">{letter}")
    size = layout.size
    encode, decode = layout.pack, layout.unpack_from

    def write(out: bytearray, value: Any) -> None:
        out += encode(value)

    def read(data: bytes, position: int) -> tuple[Any, int]:
        return decode(data, position)[0], position + size

    return FieldType(write, read)


def _read_length(data: bytes, position: int, size: int = 1) -> tuple[int, int]:
    """Read how many items follow, of at least `size` bytes each; -1 for null."""
    number, position = read_uvarint(data, position)
    length = number - 1
    if length * size > len(data) - position:
        raise ValueError(f"{length:,} items of {size} bytes or more do not fit into the rest of {len(data)} bytes")
    return length, position


def _write_length(out: bytearray, length: int) -> None:
    write_uvarint(out, length + 1)


def _write_bytes(out: bytearray, value: bytes) -> None:
    _write_length(out, len(value))
    out += value


def _read_bytes(data: bytes, position: int) -> tuple[bytes | None, int]:
    length, position = _read_length(data, position)
    if length < 0:
        return None, position
    end = position + length
    return data[position:end], end


def _write_string(out: bytearray, value: str) -> None:
    _write_bytes(out, value.encode())


def _read_string(data: bytes, position: int) -> tuple[str | None, int]:
    value, position = _read_bytes(data, position)
    return (None if value is None else value.decode()), position


def _write_uuid(out: bytearray, value: UUID) -> None:
    out += value.bytes


def _read_uuid(data: bytes, position: int) -> tuple[UUID, int]:
    end = position + _UUID_SIZE
    return UUID(bytes=data[position:end]), end


def _write_int32s(out: bytearray, values: tuple[int, ...]) -> None:
    _write_length(out, len(values))
    out += pack(f">{len(values)}i", *values)


def _read_int32s(data: bytes, position: int) -> tuple[tuple[int, ...] | None, int]:
    length, position = _read_length(data, position, 4)
    if length < 0:
        return None, position
    return unpack_from(f">{length}i", data, position), position + 4 * length


def array(item: FieldType[T]) -> FieldType[tuple[T, ...]]:
    """Many of an item, in order; never null."""
    return _required(FieldType(_array_writer(item), _array_reader(item)))


def _array_writer(item: FieldType[T]) -> Writer[tuple[T, ...]]:
    def write(out: bytearray, values: tuple[T, ...]) -> None:
        _write_length(out, len(values))
        for value in values:
            item.write(out, value)

    return write


def _array_reader(item: FieldType[T]) -> Reader[tuple[T, ...] | None]:
    def read(data: bytes, position: int) -> tuple[tuple[T, ...] | None, int]:
        length, position = _read_length(data, position)
        if length < 0:
            return None, position
        values = []
        for _ in range(length):
            value, position = item.read(data, position)
            values.append(value)
        return tuple(values), position

    return read


def _required(kind: FieldType[Any]) -> FieldType[Any]:
    """Refuse null."""
    read_any = kind.read

    def read(data: bytes, position: int) -> tuple[Any, int]:
        value, position = read_any(data, position)
        if value is None:
            raise ValueError("a field is null that must not be")
        return value, position

    return FieldType(kind.write, read)


def _nullable(kind: FieldType[Any]) -> FieldType[Any]:
    write_present = kind.write

    def write(out: bytearray, value: Any) -> None:
        if value is None:
            out.append(0)
        else:
            write_present(out, value)

    return FieldType(write, kind.read)


_UUID: Final[FieldType[UUID]] = FieldType(_write_uuid, _read_uuid)
_STRING: Final[FieldType[Any]] = FieldType(_write_string, _read_string)
_BYTES: Final[FieldType[Any]] = FieldType(_write_bytes, _read_bytes)
_INT32S: Final[FieldType[Any]] = FieldType(_write_int32s, _read_int32s)
_UUIDS: Final[FieldType[Any]] = FieldType(_array_writer(_UUID), _array_reader(_UUID))

Bool = Annotated[bool, _number("?")]
Int8 = Annotated[int, _number("b")]
Int16 = Annotated[int, _number("h")]
UInt16 = Annotated[int, _number("H")]
Int32 = Annotated[int, _number("i")]
Int64 = Annotated[int, _number("q")]
Float64 = Annotated[float, _number("d")]
Uuid = Annotated[UUID, _UUID]
String = Annotated[str, _required(_STRING)]
OptionalString = Annotated[str | None, _nullable(_STRING)]
Bytes = Annotated[bytes, _required(_BYTES)]
Int32s = Annotated[tuple[int, ...], _required(_INT32S)]
OptionalInt32s = Annotated[tuple[int, ...] | None, _nullable(_INT32S)]
Uuids = Annotated[tuple[UUID, ...], _required(_UUIDS)]
OptionalUuids = Annotated[tuple[UUID, ...] | None, _nullable(_UUIDS)]
Strings = Annotated[tuple[str, ...], array(_required(_STRING))]
