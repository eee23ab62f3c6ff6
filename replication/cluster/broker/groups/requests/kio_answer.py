"""Answers as kio has them: a class for each version of each, of whose fields we say what is there in all versions."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from functools import cache
from types import NoneType
from typing import Any, Final, get_args

from replication.wire.encoding.kio_messages import response_class

_MESSAGE: Final = "error_message"
_LONGEST_MESSAGE: Final = 1_000
"""Some name all that is wrong, of which there may be more than a field can hold."""
_NO_THROTTLE: Final[Mapping[str, Any]] = {"throttle_time": timedelta(0)}


def kio_answer(api_key: int, version: int, content: Mapping[str, Any]) -> Any:
    """Return the answer of a version: what it does not have is left out; null where it has no null is empty text."""
    return _made(response_class(api_key, version), {**_NO_THROTTLE, **content})


def _made(kind: Any, content: Mapping[str, Any]) -> Any:
    values: dict[str, Any] = {}
    for name, item, is_optional in _fields(kind):
        if name in content:
            value = content[name]
            if value is None:
                values[name] = None if is_optional else ""
            elif item is not None:
                values[name] = tuple(_made(item, each) for each in value)
            else:
                values[name] = value[:_LONGEST_MESSAGE] if name == _MESSAGE else value
    return kind(**values)


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any, bool], ...]:
    """Return the fields of a class: their names, of which class each has many, if of any, and whether it may be null.

    What is asked of many groups is answered in half the time where this is looked up once.
    """
    return tuple((each.name, _item_class(each.type), NoneType in get_args(each.type)) for each in fields(kind))


def _item_class(kind: Any) -> Any:
    """Return the class of which a field has many; None where they are no messages of their own."""
    kinds = (kind, *get_args(kind))  # the second where there may be none
    return next((each for of in kinds for each in get_args(of) if is_dataclass(each)), None)
