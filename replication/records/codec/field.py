"""A field of a class in one version: its type, and how it is taken out of a value."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any

from replication.records.codec.fields import FieldType


@dataclass(frozen=True, slots=True)
class Field:
    """A field in one version."""

    name: str
    type: FieldType[Any]
    default: Any = None
    tag: int | None = None
    present: bool = True
    ignorable: bool = False


def getter(kind: Any, names: Sequence[str]) -> Callable[[Any], Any]:
    """Return what gives the fields of a value: one by itself, several as a tuple."""
    if not issubclass(kind, tuple):
        return attrgetter(*names)
    return itemgetter(*map(kind._fields.index, names))


def getter_of_all(kind: Any, names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gives the fields of a value as a tuple, however many they are."""
    if not names:
        return lambda _: ()
    content = getter(kind, names)
    return content if len(names) > 1 else lambda value: (content(value),)
