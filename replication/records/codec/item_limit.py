"""How many items one message may have: each takes many times its bytes once it is read, and longer to be answered."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from threading import local
from typing import Final

_NUMBERS_OF_AN_ITEM: Final = 8
"""So many numbers of an array count as one item: they are read by one call."""


class _Left(local):
    items: float = inf


_LEFT: Final = _Left()


@contextmanager
def at_most_items(most: int) -> Iterator[None]:
    """Limit what this thread reads meanwhile to this many items, of all arrays and tags together."""
    _LEFT.items = most
    try:
        yield
    finally:
        _LEFT.items = inf


def take_items(count: int) -> None:
    """Count items before any of them is read. ValueError where they are more than are left."""
    left = _LEFT.items = _LEFT.items - count
    if left < 0:
        raise ValueError(f"with {count:,} more items it has more than a message may have")


def take_numbers(count: int) -> None:
    """Count numbers that are read at once; errors as those of `take_items`."""
    take_items(count // _NUMBERS_OF_AN_ITEM + 1)
