"""Mappings that nobody changes."""

from types import MappingProxyType
from typing import TypeVar, cast

_K = TypeVar("_K")
_V = TypeVar("_V")


def read_only(mapping: dict[_K, _V]) -> dict[_K, _V]:
    """Return a view that raises TypeError where it is to be changed; whoever has the mapping itself leaves it be."""
    return cast("dict[_K, _V]", MappingProxyType(mapping))
