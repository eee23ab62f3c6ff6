"""What a mirror waits for so long that somebody should hear of it."""

from collections.abc import Mapping
from typing import Generic, TypeVar

K = TypeVar("K")


class Standstills(Generic[K]):
    """Tells of each standstill once, when it has lasted; one that ended may be told again."""

    def __init__(self, patience_ms: int) -> None:
        """Wait for so many milliseconds."""
        self._patience_ms = patience_ms
        self._since: dict[K, int] = {}
        self._told: set[K] = set()

    def due(self, standing_still: Mapping[K, object], now: int) -> list[K]:
        """Return what is to be told at `now`, in milliseconds, of all that stands still then."""
        self._since = {each: self._since.get(each, now) for each in standing_still}
        self._told &= self._since.keys()
        due = [each for each, since in self._since.items() if now - since >= self._patience_ms]
        untold = [each for each in due if each not in self._told]
        self._told.update(untold)
        return untold
