"""The types of fields in messages and metadata records, in both forms that Kafka gives them.

In flexible versions (KIP-482) a length stands as an unsigned varint, one more than it is, and 0 for null. In versions
before, it is an int16 for strings and an int32 for all else, and -1 for null. Each type has a name for annotations:

    partition_id: Int32
    isr: Annotated[OptionalInt32s, Tag(0)] = None

A reader checks each length against what is left before it makes room. It takes bytes or a view of them; what it returns
is independent of the view, but for OptionalRecordsView.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from struct import Struct, pack, unpack_from
from typing import Annotated, Any, Final, Generic, NamedTuple, TypeAlias, TypeVar
from uuid import UUID

from replication.records.codec.gathered import Gathered
from replication.records.codec.item_limit import take_items, take_numbers

T = TypeVar("T")
U = TypeVar("U")
_SHIFTS: Final = (14, 21, 28)
"""Of the third to the fifth byte of a varint."""
_MAX_INT32: Final = 0x7FFFFFFF
_NULL: Final = "a field is null that must not be"

Data: TypeAlias = bytes | memoryview
Writer: TypeAlias = Callable[[bytearray, T], None]
Reader: TypeAlias = Callable[[Data, int], tuple[T, int]]
"""Reads at a position, and returns the one after. May raise IndexError, struct.error, OverflowError and ValueError."""
Rest: TypeAlias = Callable[[Any, Data, int], tuple[T, int]]
"""Reads what follows a number, given that number; errors as those of a Reader."""


@dataclass(frozen=True, slots=True)
class FieldType(Generic[T]):
    """How values of one type become bytes and come back."""

    write: Writer[T]
    read: Reader[T]
    least: int
    """How many bytes a value has at least."""
    letter: str = ""
    """What `struct` calls the number that a value begins with: neighbours are unpacked by one call."""
    rest: Rest[T] | None = None
    """Reads what follows that number; None where the number is the value."""
    blanks: Mapping[Any, T] = field(default_factory=dict, compare=False)
    """The values that nothing follows, by their number: `rest` need not be called for them."""
    legacy: "FieldType[T] | None" = None
    """How versions that are not flexible write it, where that differs."""
    write_many: Writer[Sequence[T]] | None = None
    """Writes many, one after another, where that takes less time than one at a time."""
    read_many: Rest[Sequence[T]] | None = None
    """Reads so many, one after another, where that takes less time than one at a time."""

    @property
    def is_number(self) -> bool:
        """Whether a value is a number of fixed size, and no more."""
        return bool(self.letter) and self.rest is None

    def form(self, *, flexible: bool) -> "FieldType[T]":
        """Return how it is written in versions that are flexible, or that are not."""
        return self if flexible or self.legacy is None else self.legacy


class _Lengths(NamedTuple):
    """How lengths are written."""

    write: Writer[int]
    """Writes a length, or -1 for null."""
    letter: str
    null: int
    """The number that stands for null; the one after it is a length of 0."""
    most: int
    """The largest number that the letter unpacks whole."""


def write_uvarint(out: bytearray, value: int) -> None:
    """Write seven bits a byte, the lowest first."""
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_uvarint(data: Data, position: int) -> tuple[int, int]:
    """Read what `write_uvarint` wrote. Raises IndexError at the end, ValueError after five bytes."""
    byte = data[position]
    return (byte, position + 1) if byte < 0x80 else _rest_of_uvarint(byte, data, position + 1)


def _rest_of_uvarint(value: int, data: Data, position: int) -> tuple[int, int]:
    """Read on after a first byte above 0x7F; each byte takes off the highest bit of the one before."""
    byte = data[position]
    value += byte - 1 << 7
    if byte < 0x80:
        return value, position + 1
    for shift in _SHIFTS:
        position += 1
        byte = data[position]
        value += byte - 1 << shift
        if byte < 0x80:
            return value, position + 1
    raise ValueError("a variable-length integer has more than five bytes")


def converted(kind: FieldType[T], read: Callable[[T], U], write: Callable[[U], T]) -> FieldType[U]:
    """Return a type whose values stand for those of another."""
    write_plain, rest_plain = kind.write, kind.rest or _number_itself

    def rest(number: Any, data: Data, position: int) -> tuple[U, int]:
        value, position = rest_plain(number, data, position)
        return read(value), position

    legacy = converted(kind.legacy, read, write) if kind.legacy else None
    return _beginning(kind.letter, lambda out, value: write_plain(out, write(value)), rest, legacy=legacy)


def array(item: FieldType[T]) -> FieldType[tuple[T, ...]]:
    """Many of an item, in order; never null."""
    return _both(lambda lengths, flexible: _many(lengths, item.form(flexible=flexible), optional=False))


def optional_array(item: FieldType[T]) -> FieldType[tuple[T, ...] | None]:
    """Many of an item, in order, or null."""
    return _both(lambda lengths, flexible: _many(lengths, item.form(flexible=flexible), optional=True))


def nullable(struct: FieldType[T]) -> FieldType[T | None]:
    """Return the type of a struct that may be null: a byte stands before it, below 0 for null (KIP-893)."""
    write_present, read_present = struct.write, struct.read

    def write(out: bytearray, value: T | None) -> None:
        out += b"\xff" if value is None else b"\x01"
        if value is not None:
            write_present(out, value)

    def rest(number: int, data: Data, position: int) -> tuple[T | None, int]:
        return (None, position) if number < 0 else read_present(data, position)

    return _beginning("b", write, rest)


def _number_itself(number: Any, _: Data, position: int) -> tuple[Any, int]:
    return number, position


def _beginning(
    letter: str,
    write: Writer[Any],
    rest: Rest[Any] | None = None,
    *,
    blanks: Mapping[Any, Any] | None = None,
    legacy: FieldType[Any] | None = None,
) -> FieldType[Any]:
    """Return the type of values that begin with a number."""
    layout = Struct(f">{letter}")
    unpack, size, rest_of = layout.unpack_from, layout.size, rest or _number_itself

    def read(data: Data, position: int) -> tuple[Any, int]:
        return rest_of(unpack(data, position)[0], data, position + size)

    return FieldType(write, read, size, letter, rest, blanks or {}, legacy)


def _number(letter: str) -> FieldType[Any]:
    pack = Struct(f">{letter}").pack

    def write(out: bytearray, value: Any) -> None:
        out += pack(value)

    return _beginning(letter, write)


def _write_compact_length(out: bytearray, length: int) -> None:
    if length < 0x7F:
        out.append(length + 1)
    else:
        write_uvarint(out, length + 1)


def _legacy_lengths(letter: str) -> _Lengths:
    return _Lengths(_number(letter).write, letter, -1, _MAX_INT32)


_COMPACT: Final = _Lengths(_write_compact_length, "B", 0, 0x7F)
_SHORT: Final = _legacy_lengths("h")
_LONG: Final = _legacy_lengths("i")


def _counted(
    lengths: _Lengths, write_items: Writer[Any], read_items: Rest[Any], *, least: int, nothing: Any, optional: bool
) -> FieldType[Any]:
    """Return the type of items with their count before them, each of at least so many bytes.

    Here and nowhere else a length is read: no reader of items is called before they are seen to fit into what is left.
    """
    write_length, letter, null, most = lengths

    def write(out: bytearray, value: Any) -> None:
        if value is None and not optional:
            raise ValueError(_NULL)
        write_length(out, -1 if value is None else len(value))
        if value:
            write_items(out, value)

    def rest(number: int, data: Data, position: int) -> tuple[Any, int]:
        if number > most:
            number, position = _rest_of_uvarint(number, data, position)
        length = number - null - 1
        if length <= 0:
            return _empty(length, nothing, optional=optional), position
        left = len(data) - position
        if length * least > left:
            raise ValueError(f"{length:,} items of {least} bytes or more do not fit into the {left:,} left")
        return read_items(length, data, position)

    blanks = {null: None, null + 1: nothing} if optional else {null + 1: nothing}
    return _beginning(letter, write, rest, blanks=blanks)


def _empty(length: int, nothing: T, *, optional: bool) -> T | None:
    """Return what has no items, or null."""
    if length < -1:
        raise ValueError(f"a length of {length:,} items is no length")
    if length < 0 and not optional:
        raise ValueError(_NULL)
    return None if length < 0 else nothing


def _append(out: bytearray, value: bytes | memoryview) -> None:
    out += value


def _append_records(out: bytearray, value: bytes | memoryview) -> None:
    if isinstance(out, Gathered) and isinstance(value, memoryview):
        out.add_view(value)
    else:
        out += value


def _bytes(lengths: _Lengths, *, optional: bool) -> FieldType[Any]:
    def read(length: int, data: Data, position: int) -> tuple[bytes, int]:
        end = position + length
        return bytes(data[position:end]), end

    return _counted(lengths, _append_records, read, least=1, nothing=b"", optional=optional)


def _view(lengths: _Lengths) -> FieldType[Any]:
    def read(length: int, data: Data, position: int) -> tuple[memoryview, int]:
        end = position + length
        return memoryview(data)[position:end], end

    return _counted(lengths, _append_records, read, least=1, nothing=memoryview(b""), optional=True)


def _string(lengths: _Lengths, *, optional: bool) -> FieldType[Any]:
    def read(length: int, data: Data, position: int) -> tuple[str, int]:
        end = position + length
        return str(data[position:end], "utf-8"), end

    encoded = _counted(lengths, _append, read, least=1, nothing="", optional=optional)
    write_encoded = encoded.write

    def write(out: bytearray, value: str | None) -> None:
        write_encoded(out, None if value is None else value.encode())

    return replace(encoded, write=write)


def _int32s(lengths: _Lengths, *, optional: bool) -> FieldType[Any]:
    def write(out: bytearray, values: tuple[int, ...]) -> None:
        out += pack(f">{len(values)}i", *values)

    def read(length: int, data: Data, position: int) -> tuple[tuple[int, ...], int]:
        take_numbers(length)
        return unpack_from(f">{length}i", data, position), position + 4 * length

    return _counted(lengths, write, read, least=4, nothing=(), optional=optional)


def _many(lengths: _Lengths, item: FieldType[Any], *, optional: bool) -> FieldType[Any]:
    write_many, read_many = item.write_many or _write_each(item), item.read_many or _read_each(item)

    if item.least < 1:
        raise TypeError("items that may take no bytes cannot be counted safely: no number of them is too many")

    def read(count: int, data: Data, position: int) -> tuple[tuple[Any, ...], int]:
        take_items(count)
        values, position = read_many(count, data, position)
        return tuple(values), position

    return _counted(lengths, write_many, read, least=item.least, nothing=(), optional=optional)


def _write_each(item: FieldType[T]) -> Writer[Sequence[T]]:
    write_item = item.write

    def write(out: bytearray, values: Sequence[T]) -> None:
        for value in values:
            write_item(out, value)

    return write


def _read_each(item: FieldType[T]) -> Rest[Sequence[T]]:
    read_item = item.read

    def read(count: int, data: Data, position: int) -> tuple[list[T], int]:
        values = []
        for _ in range(count):
            value, position = read_item(data, position)
            values.append(value)
        return values, position

    return read


def _both(made: Callable[[_Lengths, bool], FieldType[Any]], legacy: _Lengths = _LONG) -> FieldType[Any]:
    """Return what is made of the lengths of both forms."""
    return replace(made(_COMPACT, True), legacy=made(legacy, False))


def _write_uuid(out: bytearray, value: UUID) -> None:
    out += value.bytes


def _uuid(found: bytes, _: Data, position: int) -> tuple[UUID, int]:
    return UUID(bytes=found), position


_UUID: Final[FieldType[UUID]] = _beginning("16s", _write_uuid, _uuid)
_STRING: Final = _both(lambda lengths, _: _string(lengths, optional=False), _SHORT)
_OPTIONAL_STRING: Final = _both(lambda lengths, _: _string(lengths, optional=True), _SHORT)
_BYTES: Final = _both(lambda lengths, _: _bytes(lengths, optional=False))
_OPTIONAL_BYTES: Final = _both(lambda lengths, _: _bytes(lengths, optional=True))
_INT32S: Final = _both(lambda lengths, _: _int32s(lengths, optional=False))
_OPTIONAL_INT32S: Final = _both(lambda lengths, _: _int32s(lengths, optional=True))

Bool = Annotated[bool, _number("?")]
Int8 = Annotated[int, _number("b")]
Int16 = Annotated[int, _number("h")]
UInt16 = Annotated[int, _number("H")]
Int32 = Annotated[int, _number("i")]
Int64 = Annotated[int, _number("q")]
Float64 = Annotated[float, _number("d")]
Uuid = Annotated[UUID, _UUID]
NO_ID: Final = UUID(int=0)
"""Stands for no id (Kafka: Uuid.ZERO_UUID)."""
String = Annotated[str, _STRING]
OptionalString = Annotated[str | None, _OPTIONAL_STRING]
OptionalLegacyString = Annotated[str | None, _string(_SHORT, optional=True)]
"""Also in flexible versions, as in the headers of requests."""
Bytes = Annotated[bytes, _BYTES]
Records = Annotated[bytes | memoryview, _BYTES]
"""Read as bytes, written from a view too."""
OptionalRecords = Annotated[bytes | memoryview | None, _OPTIONAL_BYTES]
OptionalRecordsView = Annotated[bytes | memoryview | None, _both(lambda lengths, _: _view(lengths))]
"""Read as a view of what is read, the one value that keeps hold of it."""
OptionalBytes = Annotated[bytes | None, _OPTIONAL_BYTES]
Int32s = Annotated[tuple[int, ...], _INT32S]
OptionalInt32s = Annotated[tuple[int, ...] | None, _OPTIONAL_INT32S]
Int64s = Annotated[tuple[int, ...], array(_number("q"))]
Uuids = Annotated[tuple[UUID, ...], array(_UUID)]
OptionalUuids = Annotated[tuple[UUID, ...] | None, optional_array(_UUID)]
Strings = Annotated[tuple[str, ...], array(_STRING)]
OptionalStrings = Annotated[tuple[str, ...] | None, optional_array(_STRING)]
