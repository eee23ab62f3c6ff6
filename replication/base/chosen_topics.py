"""Topics that are chosen by their names, or by patterns."""

from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import Final

WILDCARDS: Final = frozenset("*?[")
"""What no topic's name has."""


def is_pattern(name: str) -> bool:
    """Whether a name is a pattern, in which `*` and `?` mean what they do to a shell.

    >>> is_pattern("orders*"), is_pattern("orders")
    (True, False)
    """
    return not WILDCARDS.isdisjoint(name)


def is_chosen(topic: str, names: Collection[str]) -> bool:
    """Whether a topic is one of these names, or matches one of these patterns; where there is none, each topic is."""
    return not names or any(fnmatchcase(topic, name) for name in names)
