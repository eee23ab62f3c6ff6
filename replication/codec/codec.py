"""Turns values of annotated classes into bytes and back, version by version.

A class is a dataclass or a NamedTuple whose fields are annotated with types of `fields`, in the order in which they
are written:

    class Partition(NamedTuple):
        index: Int32
        leader_epoch: Annotated[Int32, Since(9)] = -1

Of a NamedTuple any tuple of the same values can be written.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from operator import attrgetter, itemgetter
from struct import Struct as Layout
from typing import Any, Final, Generic, TypeAlias, TypeVar, get_type_hints

from replication.codec.fields import Data, FieldType, array, optional_array, read_uvarint, write_uvarint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Since:
    """The first version that has a field. In versions before, the field has its default when it is read."""

    version: int
    ignorable: bool = False
    """Whether versions before leave it out without a word; else only its default can be written in them."""


@dataclass(frozen=True, slots=True)
class Until:
    """The last version that has a field; later ones leave it out without a word."""

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


@dataclass(frozen=True, slots=True)
class Field:
    """A field in one version."""

    name: str
    type: FieldType[Any]
    default: Any = None
    tag: int | None = None
    present: bool = True
    ignorable: bool = False


_Write: TypeAlias = Callable[[bytearray, Any], None]
_Read: TypeAlias = Callable[[Data, int, list[Any]], int]
"""Reads one field, or some, adds them to the values, and tells the position after them."""


class Codec(Generic[T]):
    """Writes and reads one class in one version."""

    def __init__(self, kind: type[T], every: Sequence[Field], *, flexible: bool = True) -> None:
        """`every` names all fields of the class, in its order."""
        plain = [field for field in every if field.present and field.tag is None]
        tagged = sorted((field.tag, field) for field in every if field.present and field.tag is not None)
        self._flexible: Final = flexible
        self._plain: Final = tuple(field.name for field in plain)
        self._tagged: Final = [(tag, _getter(kind, [field.name]), field) for tag, field in tagged]
        self._tag_readers: Final = dict(tagged)
        self._tags: Final = _getter(kind, [field.name for _, field in tagged])
        defaults = tuple(field.default for _, field in tagged)
        self._untagged: Final = defaults[0] if len(defaults) == 1 else defaults
        self._refused: Final = [
            (_getter(kind, [field.name]), field) for field in every if not (field.present or field.ignorable)
        ]
        runs = _runs(plain)
        self._writes: Final = [_write_of(kind, run) for run in runs]
        self._reads: Final = [_read_of(run) for run in runs]
        self._made: Final = _maker(kind, every, self._plain)
        self.least: Final = sum(field.type.least for field in plain) + flexible
        """The size of the smallest value, in bytes."""

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
        tagged = {field.name: (content(value), field.default) for _, content, field in self._tagged}
        return said | {name: content for name, (content, default) in tagged.items() if content != default}

    def read(self, data: Data, position: int) -> tuple[T, int]:
        """Read at a position, and tell the one after. Raises IndexError, OverflowError, ValueError or struct.error.

        Tags that are not known are passed over, as later versions may bring them.
        """
        values: list[Any] = []
        for read in self._reads:
            position = read(data, position, values)
        if not self._flexible:
            return self._made(values, {}), position
        if data[position] == 0:
            return self._made(values, {}), position + 1
        tagged, position = self._read_tags(data, position)
        return self._made(values, tagged), position

    def _write_tags(self, out: bytearray, value: T) -> None:
        if not self._tagged or self._tags(value) == self._untagged:
            out.append(0)
            return
        present = [
            (tag, content(value), field.type) for tag, content, field in self._tagged if content(value) != field.default
        ]
        write_uvarint(out, len(present))
        for tag, content, kind in present:
            body = bytearray()
            kind.write(body, content)
            write_uvarint(out, tag)
            write_uvarint(out, len(body))
            out += body

    def _read_tags(self, data: Data, position: int) -> tuple[dict[str, Any], int]:
        values: dict[str, Any] = {}
        count, position = read_uvarint(data, position)
        for _ in range(count):
            position = self._read_tag(data, position, values)
        return values, position

    def _read_tag(self, data: Data, position: int, values: dict[str, Any]) -> int:
        tag, position = read_uvarint(data, position)
        size, position = read_uvarint(data, position)
        if size > len(data) - position:
            raise ValueError(f"tag {tag} of {size:,} bytes goes beyond the end")
        end = position + size
        field = self._tag_readers.get(tag)
        if field is not None:
            values[field.name], position = field.type.read(data, position)
            if position != end:
                raise ValueError(f"{field.name} does not fill the {size:,} bytes of its tag")
        return end


_CODECS: Final[dict[tuple[type, int, bool], Codec[Any]]] = {}


def codec_of(kind: type[T], version: int, *, flexible: bool = True) -> Codec[T]:
    """Return the codec of a class in a version, made once."""
    codec = _CODECS.get((kind, version, flexible))
    if codec is None:
        every = tuple(_fields(kind, version, flexible=flexible))
        codec = _CODECS[kind, version, flexible] = Codec(kind, every, flexible=flexible)
    return codec


def struct_type(codec: Codec[T]) -> FieldType[T]:
    """Return the type of fields that hold what a codec writes."""
    return FieldType(codec.write, codec.read, codec.least)


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
    one = struct_type(codec_of(mark.kind, version, flexible=flexible))
    if isinstance(mark, Struct):
        return one
    return (optional_array if mark.optional else array)(one).form(flexible=flexible)


def _runs(plain: Sequence[Field]) -> list[list[Field]]:
    """Return the fields with neighbouring numbers together, which one call packs or unpacks."""
    runs: list[list[Field]] = []
    for field in plain:
        if runs and field.type.letter and runs[-1][-1].type.letter:
            runs[-1].append(field)
        else:
            runs.append([field])
    return runs


def _write_of(kind: Any, run: list[Field]) -> _Write:
    content = _getter(kind, [field.name for field in run])
    if len(run) == 1:
        write_one = run[0].type.write
        return lambda out, value: write_one(out, content(value))
    pack = _layout(run).pack

    def write(out: bytearray, value: Any) -> None:
        out += pack(*content(value))

    return write


def _read_of(run: list[Field]) -> _Read:
    if not run[0].type.letter:
        return _read_one(run[0].type.read)
    layout = _layout(run)
    unpack, size = layout.unpack_from, layout.size

    def read(data: Data, position: int, values: list[Any]) -> int:
        values += unpack(data, position)
        return position + size

    return read


def _read_one(read_field: Callable[[Data, int], tuple[Any, int]]) -> _Read:
    def read(data: Data, position: int, values: list[Any]) -> int:
        value, position = read_field(data, position)
        values.append(value)
        return position

    return read


def _layout(run: Iterable[Field]) -> Layout:
    return Layout(">" + "".join(field.type.letter for field in run))


def _getter(kind: Any, names: list[str]) -> Callable[[Any], Any]:
    """Return what gives the fields of a value: one by itself, several as a tuple."""
    if not names:
        return lambda _: ()
    if not issubclass(kind, tuple):
        return attrgetter(*names)
    return itemgetter(*map(kind._fields.index, names))


def _maker(kind: Any, every: Sequence[Field], plain: tuple[str, ...]) -> Callable[[list[Any], dict[str, Any]], Any]:
    """Return what makes a value of its plain fields, in their order, and the tagged ones that were there."""
    if not issubclass(kind, tuple):
        untagged = {field.name: field.default for field in every if field.present and field.tag is not None}
        return lambda values, tagged: kind(**dict(zip(plain, values, strict=True)), **untagged | tagged)
    if plain == kind._fields:
        return lambda values, _: kind._make(values)
    rest = [field for field in every if field.name not in plain]
    given = [*plain, *(field.name for field in rest)]
    in_order = itemgetter(*map(given.index, kind._fields)) if len(given) > 1 else tuple
    defaults = [field.default for field in rest]

    def made(values: list[Any], tagged: dict[str, Any]) -> Any:
        values += [tagged.get(field.name, field.default) for field in rest] if tagged else defaults
        return kind._make(in_order(values))

    return made
