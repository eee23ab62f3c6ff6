"""Turns values of annotated classes into bytes and back, version by version.

A class is a dataclass or a NamedTuple whose fields are annotated with types of `fields`, in the order in which they
are written:

    class Partition(NamedTuple):
        index: Int32
        leader_epoch: Annotated[Int32, Since(9)] = -1

Of a NamedTuple any tuple of the same values can be written, and many of them as `Columns`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import partial
from itertools import repeat
from operator import add, itemgetter
from struct import Struct as Layout
from typing import Any, Final, Generic, TypeAlias, TypeVar, get_type_hints

from replication.records.codec.field import Field, getter, getter_of_all
from replication.records.codec.fields import (
    Data,
    FieldType,
    Reader,
    Rest,
    array,
    optional_array,
    read_uvarint,
    write_uvarint,
)
from replication.records.codec.item_limit import take_items
from replication.records.codec.rows import Columns, Rows

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Since:
    """The first version that has a field. In versions before, the field has its default when it is read."""

    version: int
    ignorable: bool = False
    """Whether earlier versions leave it out silently; else only its default can be written in them."""


@dataclass(frozen=True, slots=True)
class Until:
    """The last version that has a field; later ones leave it out silently."""

    version: int


@dataclass(frozen=True, slots=True)
class Tag:
    """A field that is written after the others, under a number, unless it has its default (KIP-482)."""

    number: int


@dataclass(frozen=True, slots=True)
class Struct:
    """The type of a field that holds one of another class, in the version of the whole."""

    kind: type[Any]


@dataclass(frozen=True, slots=True)
class Structs:
    """The type of a field that holds many of another class, each in the version of the whole."""

    kind: type[Any]
    optional: bool = False
    """Whether it may be null."""
    plain: bool = False
    """Whether NamedTuples are read as the plain tuples that are made and unpacked in less time."""


_BLOCK: Final = 32
"""So many values are still written together where some of the others have content."""

_Write: TypeAlias = Callable[[bytearray, Any], None]
_Unpack: TypeAlias = Callable[[Data, int], tuple[Any, ...]]
_Make: TypeAlias = Callable[[Sequence[Any]], Any]
_Step: TypeAlias = tuple[_Unpack, int, Mapping[Any, Any], Rest[Any]]
"""Unpacks numbers of so many bytes, of which the last begins a field: its blanks, and what reads the rest of it."""


class Codec(Generic[T]):
    """Writes and reads one class in one version."""

    def __init__(self, kind: type[T], every: Sequence[Field], *, flexible: bool = True) -> None:
        """`every` names all fields of the class, in its order."""
        plain = [field for field in every if field.present and field.tag is None]
        tagged = sorted((field.tag, field) for field in every if field.present and field.tag is not None)
        self._flexible: Final = flexible
        self._plain: Final = tuple(field.name for field in plain)
        self._tagged: Final = tagged
        self._tag_writes: Final = [(_uvarint(tag), field.type.write) for tag, field in tagged]
        self._tag_readers: Final = {
            tag: (place, field.type.read, field.name) for place, (tag, field) in enumerate(tagged)
        }
        self._tags: Final = getter_of_all(kind, [field.name for _, field in tagged])
        self._untagged: Final = tuple(field.default for _, field in tagged)
        self._rest: Final = self._untagged + _lacked(every)
        """What stands after the plain fields of a value without tags."""
        self._refused: Final = [
            (getter(kind, [field.name]), field) for field in every if not (field.present or field.ignorable)
        ]
        self._writes: Final = [_write_of(kind, run) for run in _runs(plain)]
        self._steps, last = _steps(plain, flexible=flexible)
        self._unpack_last, self._last_size = last.unpack_from, last.size
        present = [*plain, *(field for _, field in tagged)]
        self._make: Final = _maker(kind, every, present)
        self._make_plain: Final = _maker(kind, every, present, tuple)
        self.least: Final = sum(field.type.least for field in plain) + flexible
        """The size of the smallest value, in bytes."""
        self._rows: Final = Rows.of(kind, every, flexible=flexible)
        """Of values without tags; None where none is of a size that is known beforehand."""

    def write(self, out: bytearray, value: T) -> None:
        """Append a value's bytes. Raises ValueError or struct.error for what this version cannot say."""
        for content, field in self._refused:
            if content(value) != field.default:
                raise ValueError(f"this version has no {field.name}, which is {content(value)}")
        for write in self._writes:
            write(out, value)
        if self._flexible:
            self._write_tags(out, value)

    def fields(self, value: T) -> dict[str, Any]:
        """Return what this version has and says of a value: tagged fields only where they have not their default."""
        said = {name: getattr(value, name) for name in self._plain}
        tagged = zip(self._tags(value), self._tagged, strict=True)
        return said | {field.name: content for content, (_, field) in tagged if content != field.default}

    def read(self, data: Data, position: int) -> tuple[T, int]:
        """Read at a position, and return the one after. Raises IndexError, OverflowError, ValueError or struct.error.

        Tags that are not known are passed over, as later versions may bring them.
        """
        values, position = self._read_values(data, position)
        return self._make(values), position

    def write_many(self, out: bytearray, values: Sequence[T] | Columns) -> None:
        """Append the bytes of many values; errors as those of `write`."""
        rows = None if self._rows is None or self._refused else self._rows.packed(values)
        if rows is not None:
            out += rows
        elif isinstance(values, Columns) and len(values) > _BLOCK:
            for block in values.in_blocks(_BLOCK):
                self.write_many(out, block)
        else:
            value: Any
            for value in values:
                self.write(out, value)

    def read_many(self, count: int, data: Data, position: int) -> tuple[Sequence[T], int]:
        """Read so many values, where as many of the smallest fit into what is left; errors as those of `read`."""
        return self._read_many(count, data, position, self._make)

    def read_many_plain(self, count: int, data: Data, position: int) -> tuple[Sequence[T], int]:
        """Do what `read_many` does, but return plain tuples, not those of the class."""
        return self._read_many(count, data, position, self._make_plain)

    def _read_many(self, count: int, data: Data, position: int, make: _Make) -> tuple[Sequence[T], int]:
        row = None if self._rows is None else self._rows.readable
        if row is None:
            return self._read_each(count, data, position, make)
        end = position + count * row.size
        rows = memoryview(data)[position:end]
        if self._flexible and any(rows[row.size - 1 :: row.size].tobytes()):
            return self._read_each(count, data, position, make)
        found: Iterable[tuple[Any, ...]] = row.iter_unpack(rows)
        if self._rest:
            found = map(add, found, repeat(self._rest))
        return tuple(found if make is tuple else map(make, found)), end

    def _read_each(self, count: int, data: Data, position: int, make: _Make) -> tuple[list[T], int]:
        read_values = self._read_values
        made = []
        for _ in range(count):
            values, position = read_values(data, position)
            made.append(make(values))
        return made, position

    def _read_values(self, data: Data, position: int) -> tuple[list[Any], int]:
        values: list[Any] = []
        for unpack, size, blanks, read_rest in self._steps:
            values += unpack(data, position)
            position += size
            number = values[-1]
            if number in blanks:
                values[-1] = blanks[number]
            else:
                values[-1], position = read_rest(number, data, position)
        values += self._unpack_last(data, position)
        position += self._last_size
        if self._flexible and values.pop():
            tagged, position = self._read_tags(data, position - 1)
            values += tagged
        else:
            values += self._rest
        return values, position

    def _write_tags(self, out: bytearray, value: T) -> None:
        contents = self._tags(value)
        if contents == self._untagged:
            out.append(0)
            return
        count, tags = 0, bytearray()
        for content, default, (tag, write) in zip(contents, self._untagged, self._tag_writes, strict=True):
            if content != default:
                body = bytearray()
                write(body, content)
                tags += tag
                write_uvarint(tags, len(body))
                tags += body
                count += 1
        write_uvarint(out, count)
        out += tags

    def _read_tags(self, data: Data, position: int) -> tuple[list[Any], int]:
        values = [*self._rest]
        count, position = read_uvarint(data, position)
        take_items(count)
        for _ in range(count):
            position = self._read_tag(data, position, values)
        return values, position

    def _read_tag(self, data: Data, position: int, values: list[Any]) -> int:
        tag, position = read_uvarint(data, position)
        size, position = read_uvarint(data, position)
        if size > len(data) - position:
            raise ValueError(f"tag {tag} of {size:,} bytes goes beyond the end")
        end = position + size
        if tag in self._tag_readers:
            place, read, name = self._tag_readers[tag]
            values[place], position = read(data, position)
            if position != end:
                raise ValueError(f"{name} does not fill the {size:,} bytes of its tag")
        return end


_CODECS: Final[dict[tuple[type, int, bool], Codec[Any]]] = {}


def codec_of(kind: type[T], version: int, *, flexible: bool = True) -> Codec[T]:
    """Return the codec of a class in a version, made once."""
    codec = _CODECS.get((kind, version, flexible))
    if codec is None:
        every = tuple(_fields(kind, version, flexible=flexible))
        codec = _CODECS[kind, version, flexible] = Codec(kind, every, flexible=flexible)
    return codec


def struct_type(codec: Codec[T], *, plain: bool = False) -> FieldType[T]:
    """Return the type of fields that hold what a codec writes; many of them can be read as plain tuples."""
    read_many = codec.read_many_plain if plain else codec.read_many
    return FieldType(codec.write, codec.read, codec.least, write_many=codec.write_many, read_many=read_many)


def _fields(kind: Any, version: int, *, flexible: bool) -> Iterable[Field]:
    hints = get_type_hints(kind, include_extras=True)
    for name, default in _defaults(kind).items():
        marks = hints[name].__metadata__
        since = next((mark for mark in marks if isinstance(mark, Since)), Since(0))
        until = next((mark.version for mark in marks if isinstance(mark, Until)), version)
        tag = next((mark.number for mark in marks if isinstance(mark, Tag)), None)
        yield Field(
            name,
            _type(marks[0], version, flexible=flexible),
            default,
            tag,
            present=since.version <= version <= until,
            ignorable=since.ignorable or version > until,
        )


def _defaults(kind: Any) -> dict[str, Any]:
    """Return the fields of a class with their defaults; None for those that have none."""
    if is_dataclass(kind):
        return {field.name: None if field.default is MISSING else field.default for field in fields(kind)}
    return {name: kind._field_defaults.get(name) for name in kind._fields}


def _type(mark: FieldType[Any] | Struct | Structs, version: int, *, flexible: bool) -> FieldType[Any]:
    if isinstance(mark, FieldType):
        return mark.form(flexible=flexible)
    codec = codec_of(mark.kind, version, flexible=flexible)
    if isinstance(mark, Struct):
        return struct_type(codec)
    one = struct_type(codec, plain=mark.plain)
    return (optional_array if mark.optional else array)(one).form(flexible=flexible)


def _runs(plain: Sequence[Field]) -> list[list[Field]]:
    """Return the fields with neighbouring numbers together, which one call packs or unpacks."""
    runs: list[list[Field]] = []
    for field in plain:
        if runs and field.type.is_number and runs[-1][-1].type.is_number:
            runs[-1].append(field)
        else:
            runs.append([field])
    return runs


def _write_of(kind: Any, run: list[Field]) -> _Write:
    content, write_content = getter(kind, [field.name for field in run]), run[0].type.write
    if not run[0].type.is_number:
        return lambda out, value: write_content(out, content(value))
    pack = Layout(">" + _letters(run)).pack

    def write_number(out: bytearray, value: Any) -> None:
        out += pack(content(value))

    def write_numbers(out: bytearray, value: Any) -> None:
        out += pack(*content(value))

    return write_number if len(run) == 1 else write_numbers


def _steps(plain: Iterable[Field], *, flexible: bool) -> tuple[list[_Step], Layout]:
    """Return a step for each field that is no number, and how the rest is packed: with the count of tags, if any."""
    steps: list[_Step] = []
    numbers: list[Field] = []
    for field in plain:
        numbers.append(field)
        if not field.type.is_number:
            layout = Layout(">" + _letters(numbers))
            rest = field.type.rest or _after_nothing(field.type.read)
            steps.append((layout.unpack_from, layout.size, field.type.blanks, rest))
            numbers = []
    return steps, Layout(">" + _letters(numbers) + "B" * flexible)


def _letters(run: Iterable[Field]) -> str:
    """Return how fields are packed; one that does not begin with a number begins with no bytes."""
    return "".join(field.type.letter or "0s" for field in run)


def _uvarint(value: int) -> bytes:
    out = bytearray()
    write_uvarint(out, value)
    return bytes(out)


def _after_nothing(read: Reader[T]) -> Rest[T]:
    return lambda _, data, position: read(data, position)


def _lacked(every: Iterable[Field]) -> tuple[Any, ...]:
    """Return the defaults of what a version lacks."""
    return tuple(field.default for field in every if not field.present)


def _maker(kind: Any, every: Sequence[Field], present: Sequence[Field], make: _Make | None = None) -> _Make:
    """Return what makes a value of the fields that are present, and then those that are `_lacked`."""
    names = [field.name for field in (*present, *(field for field in every if not field.present))]
    if not issubclass(kind, tuple):
        return partial(_made, kind, [getattr(kind, name).__set__ for name in names])
    make = make or partial(tuple.__new__, kind)  # what `kind._make` does, in half of its time
    if names == [*kind._fields]:
        return make
    in_order = itemgetter(*map(names.index, kind._fields))
    return lambda values: make(in_order(values))


def _made(kind: Any, setters: Iterable[Callable[[Any, Any], None]], values: Sequence[Any]) -> Any:
    """Make a dataclass with slots; a frozen one's own `__init__` takes twice the time for the same."""
    made = object.__new__(kind)
    for set_field, value in zip(setters, values, strict=True):
        set_field(made, value)
    return made
