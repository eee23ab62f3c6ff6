"""Checks that a message holds what its lengths say, before anybody makes room for what they promise.

kio reserves memory for as many items as an array's length announces, and a process that is refused it ends there and
then. So each message is walked through first, along the fields of its kio class. A count is at most the number of the
smallest such items that fit into what is left of the message.
"""

from collections.abc import Callable, Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any, Final, NamedTuple, TypeAlias, get_args, get_origin

from kio.static.protocol import Entity

from replication.protocol.errors import MalformedResponseError

Walk: TypeAlias = Callable[[memoryview, int], int]
"""Returns where a field that begins at this position ends: within the message, or past its end."""

_SIZES: Final[Mapping[str, int]] = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "error_code": 2,
    "int32": 4,
    "uint32": 4,
    "timedelta_i32": 4,
    "int64": 8,
    "uint64": 8,
    "timedelta_i64": 8,
    "datetime_i64": 8,
    "float64": 8,
    "uuid": 16,
}
_MAX_VARINT_BYTES: Final = 5


class _Item(NamedTuple):
    """A value on the wire: its least size, and how to walk over it; None where its size never varies."""

    least: int
    walk: Walk | None

    def walker(self) -> Walk:
        size = self.least
        return self.walk or (lambda _, at: at + size)


def end_of(entity_type: type[Entity], message: memoryview, at: int = 0) -> int:
    """Return where the entity that begins at `at` ends; MalformedResponseError if the message ends before."""
    try:
        end = _walk_for(entity_type)(message, at)
    except IndexError:
        end = len(message) + 1
    if end > len(message):
        raise MalformedResponseError(f"{entity_type.__name__} ends after {len(message):,} bytes, amid a field")
    return end


@cache
def _walk_for(entity_type: type[Entity]) -> Walk:
    return _entity(entity_type).walker()


@cache
def _entity(entity_type: Any) -> _Item:
    """One field after the other; then, in flexible versions, the tagged ones (KIP-482)."""
    flexible = entity_type.__flexible__
    items = [_field(field, flexible=flexible) for field in fields(entity_type) if "tag" not in field.metadata]
    if flexible:
        tagged = {
            field.metadata["tag"]: _field(field, flexible=True, tagged=True).walker()
            for field in fields(entity_type)
            if "tag" in field.metadata
        }
        items.append(_Item(1, _tagged_fields(tagged)))
    least = sum(item.least for item in items)
    walks = _merged(items)
    if not walks:
        return _Item(least, None)

    def walk(message: memoryview, at: int) -> int:
        for step in walks:
            at = step(message, at)
        return at

    return _Item(least, walk)


def _merged(items: list[_Item]) -> list[Walk]:
    """Return the walks over the items, with one step over neighbours of fixed size; none if all are fixed."""
    if all(item.walk is None for item in items):
        return []
    walks: list[Walk] = []
    fixed = 0
    for item in items:
        if item.walk is None:
            fixed += item.least
        else:
            walks.append(_after(fixed, item.walk) if fixed else item.walk)
            fixed = 0
    return [*walks, _Item(fixed, None).walker()] if fixed else walks


def _after(size: int, walk: Walk) -> Walk:
    return lambda message, at: walk(message, at + size)


def _field(field: Field[Any], *, flexible: bool, tagged: bool = False) -> _Item:
    kind, nullable = _without_none(field.type)
    if get_origin(kind) is tuple:
        item = _of_type(_without_none(get_args(kind)[0])[0], field, flexible=flexible)
        return _array(item, flexible=flexible, nullable=nullable)
    item = _of_type(kind, field, flexible=flexible)
    return _nullable(item) if nullable and not tagged and is_dataclass(kind) else item


def _of_type(kind: Any, field: Field[Any], *, flexible: bool) -> _Item:
    if is_dataclass(kind):
        entity: _Item = _entity(kind)  # type: ignore[arg-type]  # a class can be hashed, which its protocol does not say
        return entity
    return _primitive(field.metadata["kafka_type"], flexible=flexible)


def _without_none(kind: Any) -> tuple[Any, bool]:
    arguments = get_args(kind)
    if NoneType not in arguments:
        return kind, False
    return next(argument for argument in arguments if argument is not NoneType), True


def _primitive(kind: str, *, flexible: bool) -> _Item:
    if kind in _SIZES:
        return _Item(_SIZES[kind], None)
    if flexible:
        return _Item(1, _compact_bytes)
    return _Item(2, _string) if kind == "string" else _Item(4, _bytes)


def _nullable(item: _Item) -> _Item:
    walk_item = item.walker()
    return _Item(1, lambda message, at: at + 1 if message[at] > 127 else walk_item(message, at + 1))


def _array(item: _Item, *, flexible: bool, nullable: bool) -> _Item:
    length = _varint if flexible else _int32
    least = -1 if nullable else 0

    def walk(message: memoryview, at: int) -> int:
        count, at = length(message, at)
        count -= flexible
        left = len(message) - at
        if count < least or count * item.least > left:
            raise MalformedResponseError(f"an array of {count:,} items is announced where {left:,} bytes follow")
        if item.walk is None:
            return at + max(count, 0) * item.least
        for _ in range(count):
            at = item.walk(message, at)
        return at

    return _Item(1 if flexible else 4, walk)


def _tagged_fields(known: Mapping[int, Walk]) -> Walk:
    def walk(message: memoryview, at: int) -> int:
        if message[at] == 0:
            return at + 1
        count, at = _varint(message, at)
        for _ in range(count):
            tag, at = _varint(message, at)
            size, at = _varint(message, at)
            end = at + size
            if tag in known and known[tag](message[:end], at) != end:
                raise MalformedResponseError(
                    f"the tagged field {tag} does not have the {size:,} bytes that it announces"
                )
            at = end
        return at

    return walk


def _string(message: memoryview, at: int) -> int:
    size = int.from_bytes(message[at : at + 2], "big", signed=True)
    return at + 2 + max(size, 0)


def _bytes(message: memoryview, at: int) -> int:
    size, at = _int32(message, at)
    return at + max(size, 0)


def _compact_bytes(message: memoryview, at: int) -> int:
    size, at = _varint(message, at)
    return at + max(size - 1, 0)


def _int32(message: memoryview, at: int) -> tuple[int, int]:
    return int.from_bytes(message[at : at + 4], "big", signed=True), at + 4


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = message[at]
    if value < 0x80:
        return value, at + 1
    value &= 0x7F
    for index in range(1, _MAX_VARINT_BYTES):
        byte = message[at + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, at + index + 1
    raise MalformedResponseError("a variable-length integer has more than five bytes")
