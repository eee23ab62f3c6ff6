"""Answers as kio has them: a class for each version of each, of whose fields we say what is there in all versions."""

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from datetime import timedelta
from functools import cache
from types import NoneType
from typing import Any, Final, get_args

from replication.protocol.wire.kio_messages import response_class

_NO_THROTTLE: Final[Mapping[str, Any]] = {"throttle_time": timedelta(0)}


def kio_answer(api_key: int, version: int, content: Mapping[str, Any]) -> Any:
    """Return the answer of a version: what it does not have is left out; null where it has no null is empty text."""
    return _made(response_class(api_key, version), {**_NO_THROTTLE, **content})


def _made(kind: Any, content: Mapping[str, Any]) -> Any:
    known = [field for field in fields(kind) if field.name in content]
    return kind(**{field.name: _value(field, content[field.name]) for field in known})


def _value(field: Field[Any], value: Any) -> Any:
    item = _item_class(field.type)  # type: ignore[arg-type]  # a class can be hashed, which mypy does not see
    if item is not None and value is not None:
        return tuple(_made(item, each) for each in value)
    if value is None and NoneType not in get_args(field.type):
        return ""
    return value


@cache
def _item_class(kind: Any) -> Any:
    """Return the class of which a field has many; None where they are no messages of their own."""
    kinds = (kind, *get_args(kind))  # the second where there may be none
    return next((each for of in kinds for each in get_args(of) if is_dataclass(each)), None)
