"""Random messages: any of kio's classes filled at random, and all of the classes that there are."""

import random
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import Any, get_args, get_origin
from uuid import UUID

from kio.index import load_payload_module
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map, schema_name_map
from kio.static.constants import EntityType

ERRORS = tuple(ErrorCode)
_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def response_classes() -> list[type]:
    """All of kio's responses, in all versions."""
    return [_class(key, version, EntityType.response) for key, version in _versions()]


def request_classes() -> list[type]:
    """All of kio's requests, in all versions."""
    return [_class(key, version, EntityType.request) for key, version in _versions()]


def instance(kind: Any, rng: random.Random, items: int = 2) -> Any:
    """An instance with random values, up to `items` in each array, every other optional field and tag left out."""
    values = {
        field.name: _value(field.type, field.metadata.get("kafka_type"), rng, items)
        for field in fields(kind)
        if field.default is MISSING or rng.random() < 0.5
    }
    return kind(**values)


def _versions() -> list[tuple[int, int]]:
    return [(key, version) for key, name in api_key_map.items() for version in schema_name_map[name]]


def _class(key: int, version: int, kind: Any) -> type:
    module = load_payload_module(key, version, kind)
    suffix = "Request" if kind is EntityType.request else "Response"
    return next(
        found
        for name, found in vars(module).items()
        if name.endswith(suffix) and getattr(found, "__type__", None) is kind
    )


def _value(kind: Any, kafka_type: str | None, rng: random.Random, items: int) -> Any:
    arguments = get_args(kind)
    if NoneType in arguments:
        inner = next(argument for argument in arguments if argument is not NoneType)
        return None if rng.random() < 0.3 else _value(inner, kafka_type, rng, items)
    if get_origin(kind) is tuple:
        return tuple(_value(arguments[0], kafka_type, rng, items) for _ in range(rng.randint(0, items)))
    if is_dataclass(kind):
        return instance(kind, rng, items)
    return _primitive(kafka_type or "", rng)


def _primitive(kind: str, rng: random.Random) -> Any:
    if kind in _BITS:
        half = 2 ** (_BITS[kind] - 1)
        return rng.choice([0, 1, -1, half - 1, -half, rng.randrange(-half, half)])
    if kind.startswith("uint"):
        return rng.randrange(2 ** int(kind[4:]))
    makers: dict[str, Any] = {
        "string": lambda: rng.choice(["", "a", "topic", "Zürich", "x" * 200]),
        "bytes": lambda: rng.randbytes(rng.choice([0, 1, 130, 20_000])),
        "records": lambda: rng.randbytes(rng.choice([0, 1, 130, 20_000])),
        "bool": lambda: rng.random() < 0.5,
        "uuid": lambda: UUID(int=rng.randrange(1, 2**128)),
        "error_code": lambda: rng.choice(ERRORS),
        "timedelta_i32": lambda: timedelta(milliseconds=rng.randrange(2**31)),
        "timedelta_i64": lambda: timedelta(milliseconds=rng.randrange(2**40)),
        "datetime_i64": lambda: datetime.fromtimestamp(rng.randrange(2**31), UTC),
        "float64": rng.random,
    }
    return makers[kind]()
