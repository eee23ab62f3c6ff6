"""What a value of several fields shows of itself: those that say something."""

from dataclasses import MISSING, Field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def differing(value: "DataclassInstance") -> str:
    """Name the fields of a dataclass that differ from their defaults, as its call would.

    >>> differing(LogConfig(segment_bytes=1_000))
    'LogConfig(segment_bytes=1000)'
    """
    shown = [(each.name, getattr(value, each.name)) for each in fields(value) if each.repr]
    defaults = {each.name: _default(each) for each in fields(value)}
    told = ", ".join(f"{name}={content!r}" for name, content in shown if content != defaults[name])
    return f"{type(value).__name__}({told})"


def _default(field: "Field[Any]") -> object:
    return field.default_factory() if field.default_factory is not MISSING else field.default
