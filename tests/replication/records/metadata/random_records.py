"""Records of every type and version, with anything that their fields can hold, from a seed."""

import random
from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_args, get_type_hints
from uuid import UUID

from replication.records.codec import fields as types
from replication.records.codec.codec import Since, Structs
from replication.records.metadata.records import RECORD_TYPES, MetadataRecord

Chance = random.Random
EVERY_VERSION = [(kind, version) for kind in RECORD_TYPES.values() for version in range(kind.LATEST_VERSION + 1)]


def _text(chance: Chance) -> str:
    return "".join(chance.choices("abc.-_é€𝄞", k=chance.randrange(8)))


def _uuid(chance: Chance) -> UUID:
    return UUID(int=chance.getrandbits(128))


def _int(bits: int) -> Callable[[Chance], int]:
    return lambda chance: chance.choice((0, 1, -1, chance.getrandbits(bits) - (1 << bits - 1)))


def _many(one: Callable[[Chance], Any]) -> Callable[[Chance], tuple[Any, ...]]:
    return lambda chance: tuple(one(chance) for _ in range(chance.randrange(4)))


def _maybe(one: Callable[[Chance], Any]) -> Callable[[Chance], Any]:
    return lambda chance: None if chance.random() < 0.4 else one(chance)


_MAKERS: dict[Any, Callable[[Chance], Any]] = {
    types.Bool: lambda chance: chance.random() < 0.5,
    types.Int8: _int(8),
    types.Int16: _int(16),
    types.UInt16: lambda chance: chance.getrandbits(16),
    types.Int32: _int(32),
    types.Int64: _int(64),
    types.Float64: lambda chance: chance.choice((0.0, -1.5, 1e300, chance.random())),
    types.Uuid: _uuid,
    types.String: _text,
    types.OptionalString: _maybe(_text),
    types.Bytes: lambda chance: chance.randbytes(chance.randrange(20)),
    types.Int32s: _many(_int(32)),
    types.OptionalInt32s: _maybe(_many(_int(32))),
    types.Uuids: _many(_uuid),
    types.OptionalUuids: _maybe(_many(_uuid)),
    types.Strings: _many(_text),
}
_BY_TYPE = {get_args(annotation)[1]: maker for annotation, maker in _MAKERS.items()}


def random_record(kind: type[MetadataRecord], version: int, chance: Chance) -> Any:
    """Make a record of a type that a version can say; names within its lists are unique, as Kafka's are."""
    hints = get_type_hints(kind, include_extras=True)
    said = {}
    for each in fields(kind):
        mark, *others = hints[each.name].__metadata__
        since = next((other.version for other in others if isinstance(other, Since)), 0)
        if since <= version:
            said[each.name] = _value(mark, version, chance)
    return kind(**said)


def _value(mark: Any, version: int, chance: Chance) -> Any:
    if isinstance(mark, Structs):
        made = [random_record(mark.kind, version, chance) for _ in range(chance.randrange(4))]
        return tuple({next(iter(_values(each))): each for each in made}.values())
    return _BY_TYPE[mark](chance)


def _values(value: Any) -> list[Any]:
    return [getattr(value, each.name) for each in fields(value)]
