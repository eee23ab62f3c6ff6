"""Parts of a log that are made when they are first asked for: most programs do without them, and without their code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class OnDemand(Generic[T]):
    """One such part."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        """Make nothing yet; `make` may be called by several threads at once, and the first one's is used."""
        self._make = make
        self._made: dict[None, T] = {}

    @property
    def made(self) -> T | None:
        """The part, None as long as nobody has asked for it."""
        return self._made.get(None)

    def get(self) -> T:
        """Return the part."""
        return self._made.get(None) or self._made.setdefault(None, self._make())
