"""Turns dataclasses whose fields are annotated with types of `fields` into bytes and back, version by version."""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Any, Final, Generic, TypeVar, get_type_hints

from replication.codec.fields import FieldType, array, read_uvarint, write_uvarint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Since:
    """The first version that has a field. In versions before, the field has its default."""

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


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    default: Any
    type: FieldType[Any]
    since: int
    tag: int | None


class Codec(Generic[T]):
    """Writes and reads one class in one version."""

    def __init__(self, kind: type[T], version: int) -> None:
        """Look once at what the class says of its fields."""
        every = _fields(kind, version)
        known = [each for each in every if each.since <= version]
        tagged = sorted((each.tag, each) for each in known if each.tag is not None)
        self._kind: Callable[..., T] = kind
        self._plain: Final = [(each.name, each.type.write, each.type.read) for each in known if each.tag is None]
        self._tagged: Final = [(tag, each.name, each.default, each.type.write) for tag, each in tagged]
        self._tag_readers: Final = {tag: (each.name, each.type.read) for tag, each in tagged}
        self._missing: Final = [(each.name, each.default) for each in every if each.since > version]

    def write(self, out: bytearray, value: T) -> None:
        """Append a value's bytes. Raises ValueError or struct.error for what this version cannot say."""
        for name, default in self._missing:
            if getattr(value, name) != default:
                raise ValueError(f"this version has no {name}, which is {getattr(value, name)}")
        for name, write, _ in self._plain:
            write(out, getattr(value, name))
        present = []
        for tag, name, default, write in self._tagged:
            content = getattr(value, name)
            if content != default:
                present.append((tag, content, write))
        out.append(len(present))
        for tag, content, write in present:
            body = bytearray()
            write(body, content)
            write_uvarint(out, tag)
            write_uvarint(out, len(body))
            out += body

    def fields(self, value: T) -> dict[str, Any]:
        """Return what this version has and says of a value: tagged fields only where they have not their default."""
        said = {name: getattr(value, name) for name, _, _ in self._plain}
        tagged = {name: (getattr(value, name), default) for _, name, default, _ in self._tagged}
        return said | {name: content for name, (content, default) in tagged.items() if content != default}

    def read(self, data: bytes, position: int) -> tuple[T, int]:
        """Read at a position, and tell the one after. Raises IndexError, ValueError or struct.error.

        Tags that are not known are passed over, as later versions may bring them.
        """
        values: dict[str, Any] = {}
        for name, _, read in self._plain:
            values[name], position = read(data, position)
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            position = self._read_tag(data, position, values)
        return self._kind(**values), position

    def _read_tag(self, data: bytes, position: int, values: dict[str, Any]) -> int:
        tag, position = read_uvarint(data, position)
        size, position = read_uvarint(data, position)
        end = position + size
        if end > len(data):
            raise ValueError(f"tag {tag} of {size:,} bytes goes beyond the end")
        if tag in self._tag_readers:
            name, read = self._tag_readers[tag]
            values[name], position = read(data, position)
            if position != end:
                raise ValueError(f"{name} does not fill the {size:,} bytes of its tag")
        return end


_CODECS: Final[dict[tuple[type, int], Codec[Any]]] = {}


def codec_of(kind: type[T], version: int) -> Codec[T]:
    """Return the codec of a class in a version, made once."""
    codec = _CODECS.get((kind, version))
    if codec is None:
        codec = _CODECS[kind, version] = Codec(kind, version)
    return codec


def _fields(kind: type, version: int) -> tuple[_Field, ...]:
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_field(each.name, each.default, hints[each.name].__metadata__, version) for each in fields(kind))


def _field(name: str, default: Any, marks: tuple[Any, ...], version: int) -> _Field:
    since = next((mark.version for mark in marks if isinstance(mark, Since)), 0)
    tag = next((mark.number for mark in marks if isinstance(mark, Tag)), None)
    return _Field(name, None if default is MISSING else default, _type(marks[0], version), since, tag)


def _type(mark: FieldType[Any] | Struct | Structs, version: int) -> FieldType[Any]:
    if isinstance(mark, FieldType):
        return mark
    codec: Codec[Any] = codec_of(mark.kind, version)
    one = FieldType(codec.write, codec.read)
    return one if isinstance(mark, Struct) else array(one)
