"""The types of fields in messages and metadata records, in both forms that Kafka gives them.

In flexible versions (KIP-482) a length stands as an unsigned varint, one more than it is, and 0 for null. In versions
before, it is an int16 for strings and an int32 for all else, and -1 for null. Each type has a name for annotations:

    partition_id: Int32
    isr: Annotated[OptionalInt32s, Tag(0)] = None

A reader checks each length against what is left before it makes room. It takes bytes or a view of them; what it returns
is independent of the view.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from struct import Struct, pack, unpack_from
from typing import Annotated, Any, Final, Generic, NamedTuple, TypeAlias, TypeVar
from uuid import UUID

T = TypeVar("T")
U = TypeVar("U")
MAX_VARINT_SHIFT: Final = 28
_UUID_SIZE: Final = 16
_MAX_INT8: Final = 127
_NULL: Final = "a field is null that must not be"

Data: TypeAlias = bytes | memoryview
Writer: TypeAlias = Callable[[bytearray, T], None]
Reader: TypeAlias = Callable[[Data, int], tuple[T, int]]
"""Reads at a position, and tells the one after. May raise IndexError, struct.error, OverflowError and ValueError."""


@dataclass(frozen=True, slots=True)
class FieldType(Generic[T]):
    """How values of one type become bytes and come back."""

    write: Writer[T]
    read: Reader[T]
    least: int = 1
    """How many bytes a value has at least."""
    letter: str = ""
    """Of a number: what `struct` calls it."""
    legacy: "FieldType[T] | None" = None
    """How versions that are not flexible write it, where that differs."""

    def form(self, *, flexible: bool) -> "FieldType[T]":
        """Return how it is written in versions that are flexible, or that are not."""
        return self if flexible or self.legacy is None else self.legacy


class _Lengths(NamedTuple):
    """How lengths are written; -1 stands for null."""

    write: Writer[int]
    read: Reader[int]
    size: int
    """In bytes, at least."""


def write_uvarint(out: bytearray, value: int) -> None:
    """Write seven bits a byte, the lowest first."""
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_uvarint(data: Data, position: int) -> tuple[int, int]:
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
    raise ValueError("a variable-length integer has more than five bytes")


def converted(kind: FieldType[T], read: Callable[[T], U], write: Callable[[U], T]) -> FieldType[U]:
    """Return a type whose values stand for those of another."""
    write_plain, read_plain = kind.write, kind.read

    def read_converted(data: Data, position: int) -> tuple[U, int]:
        value, position = read_plain(data, position)
        return read(value), position

    legacy = converted(kind.legacy, read, write) if kind.legacy else None
    return FieldType(lambda out, value: write_plain(out, write(value)), read_converted, kind.least, legacy=legacy)


def array(item: FieldType[T]) -> FieldType[tuple[T, ...]]:
    """Many of an item, in order; never null."""
    return required(optional_array(item))


def optional_array(item: FieldType[T]) -> FieldType[tuple[T, ...] | None]:
    """Many of an item, in order, or null."""
    return _both(lambda lengths, flexible: _many(lengths, item.form(flexible=flexible)))


def required(kind: FieldType[T | None]) -> FieldType[T]:
    """Refuse null."""
    write_any, read_any = kind.write, kind.read

    def write(out: bytearray, value: T) -> None:
        if value is None:
            raise ValueError(_NULL)
        write_any(out, value)

    def read(data: Data, position: int) -> tuple[T, int]:
        value, position = read_any(data, position)
        if value is None:
            raise ValueError(_NULL)
        return value, position

    return FieldType(write, read, kind.least, legacy=required(kind.legacy) if kind.legacy else None)


def nullable(struct: FieldType[T]) -> FieldType[T | None]:
    """Return the type of a struct that may be null: a byte stands before it, below 0 for null (KIP-893)."""
    write_present, read_present = struct.write, struct.read

    def write(out: bytearray, value: T | None) -> None:
        out += b"\xff" if value is None else b"\x01"
        if value is not None:
            write_present(out, value)

    def read(data: Data, position: int) -> tuple[T | None, int]:
        return (None, position + 1) if data[position] > _MAX_INT8 else read_present(data, position + 1)

    return FieldType(write, read)


def _number(letter: str) -> FieldType[Any]:
    layout = Struct(f">{letter}")
    size = layout.size
    encode, decode = layout.pack, layout.unpack_from

    def write(out: bytearray, value: Any) -> None:
        out += encode(value)

    def read(data: Data, position: int) -> tuple[Any, int]:
        return decode(data, position)[0], position + size

    return FieldType(write, read, size, letter)


def _legacy_lengths(letter: str) -> _Lengths:
    number = _number(letter)
    return _Lengths(number.write, number.read, number.least)


def _write_compact_length(out: bytearray, length: int) -> None:
    write_uvarint(out, length + 1)


def _read_compact_length(data: Data, position: int) -> tuple[int, int]:
    byte = data[position]
    if byte < 0x80:
        return byte - 1, position + 1
    number, position = read_uvarint(data, position)
    return number - 1, position


_COMPACT: Final = _Lengths(_write_compact_length, _read_compact_length, 1)
_SHORT: Final = _legacy_lengths("h")
_LONG: Final = _legacy_lengths("i")


def _check(length: int, size: int, data: Data, position: int) -> None:
    """Refuse a length of items of at least `size` bytes each, unless so many can follow."""
    if length * size > len(data) - position:
        raise ValueError(f"{length:,} items of {size} bytes or more do not fit into the {len(data) - position:,} left")


def _empty(length: int, nothing: T) -> T | None:
    """Return what has no items, or null."""
    if length < -1:
        raise ValueError(f"a length of {length:,} items is no length")
    return None if length < 0 else nothing


def _bytes(lengths: _Lengths) -> FieldType[Any]:
    write_length, read_length, least = lengths

    def write(out: bytearray, value: bytes | memoryview | None) -> None:
        write_length(out, -1 if value is None else len(value))
        out += value or b""

    def read(data: Data, position: int) -> tuple[bytes | None, int]:
        length, position = read_length(data, position)
        if length <= 0:
            return _empty(length, b""), position
        _check(length, 1, data, position)
        end = position + length
        return bytes(data[position:end]), end

    return FieldType(write, read, least)


def _string(lengths: _Lengths) -> FieldType[Any]:
    write_length, read_length, least = lengths

    def write(out: bytearray, value: str | None) -> None:
        encoded = None if value is None else value.encode()
        write_length(out, -1 if encoded is None else len(encoded))
        out += encoded or b""

    def read(data: Data, position: int) -> tuple[str | None, int]:
        length, position = read_length(data, position)
        if length <= 0:
            return _empty(length, ""), position
        _check(length, 1, data, position)
        end = position + length
        return str(data[position:end], "utf-8"), end

    return FieldType(write, read, least)


def _int32s(lengths: _Lengths) -> FieldType[Any]:
    write_length, read_length, least = lengths

    def write(out: bytearray, values: tuple[int, ...] | None) -> None:
        write_length(out, -1 if values is None else len(values))
        out += pack(f">{len(values)}i", *values) if values else b""

    def read(data: Data, position: int) -> tuple[tuple[int, ...] | None, int]:
        length, position = read_length(data, position)
        if length <= 0:
            return _empty(length, ()), position
        _check(length, 4, data, position)
        return unpack_from(f">{length}i", data, position), position + 4 * length

    return FieldType(write, read, least)


def _many(lengths: _Lengths, item: FieldType[Any]) -> FieldType[Any]:
    write_length, read_length, least = lengths
    write_item, read_item, size = item.write, item.read, item.least

    def write(out: bytearray, values: tuple[Any, ...] | None) -> None:
        write_length(out, -1 if values is None else len(values))
        for value in values or ():
            write_item(out, value)

    def read(data: Data, position: int) -> tuple[tuple[Any, ...] | None, int]:
        length, position = read_length(data, position)
        if length <= 0:
            return _empty(length, ()), position
        _check(length, size, data, position)
        values = []
        for _ in range(length):
            value, position = read_item(data, position)
            values.append(value)
        return tuple(values), position

    return FieldType(write, read, least)


def _both(made: Callable[[_Lengths, bool], FieldType[Any]]) -> FieldType[Any]:
    """Return what is made of the lengths of both forms."""
    return replace(made(_COMPACT, True), legacy=made(_LONG, False))


def _read_uuid(data: Data, position: int) -> tuple[UUID, int]:
    end = position + _UUID_SIZE
    return UUID(bytes=bytes(data[position:end])), end


def _write_uuid(out: bytearray, value: UUID) -> None:
    out += value.bytes


_UUID: Final[FieldType[UUID]] = FieldType(_write_uuid, _read_uuid, _UUID_SIZE)
_STRING: Final[FieldType[Any]] = replace(_string(_COMPACT), legacy=_string(_SHORT))
_BYTES: Final = _both(lambda lengths, _: _bytes(lengths))
_INT32S: Final = _both(lambda lengths, _: _int32s(lengths))

Bool = Annotated[bool, _number("?")]
Int8 = Annotated[int, _number("b")]
Int16 = Annotated[int, _number("h")]
UInt16 = Annotated[int, _number("H")]
Int32 = Annotated[int, _number("i")]
Int64 = Annotated[int, _number("q")]
Float64 = Annotated[float, _number("d")]
Uuid = Annotated[UUID, _UUID]
String = Annotated[str, required(_STRING)]
OptionalString = Annotated[str | None, _STRING]
OptionalLegacyString = Annotated[str | None, _string(_SHORT)]
"""Also in flexible versions, as in the headers of requests."""
Bytes = Annotated[bytes, required(_BYTES)]
Records = Annotated[bytes | memoryview, required(_BYTES)]
"""Read as bytes, written from a view too."""
OptionalRecords = Annotated[bytes | memoryview | None, _BYTES]
OptionalBytes = Annotated[bytes | None, _BYTES]
Int32s = Annotated[tuple[int, ...], required(_INT32S)]
OptionalInt32s = Annotated[tuple[int, ...] | None, _INT32S]
Uuids = Annotated[tuple[UUID, ...], array(_UUID)]
OptionalUuids = Annotated[tuple[UUID, ...] | None, optional_array(_UUID)]
Strings = Annotated[tuple[str, ...], array(required(_STRING))]
OptionalStrings = Annotated[tuple[str, ...] | None, optional_array(required(_STRING))]
