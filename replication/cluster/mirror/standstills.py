"""What a mirror has waited for so long that it is reported."""

from collections.abc import Mapping
from typing import Generic, TypeVar

K = TypeVar("K")


class Standstills(Generic[K]):
    """Reports each standstill once, after it has lasted a while; one that ended may be reported again."""

    def __init__(self, patience_ms: int) -> None:
        """Report after so many milliseconds."""
        self._patience_ms = patience_ms
        self._since: dict[K, int] = {}
        self._told: set[K] = set()

    def due(self, standing_still: Mapping[K, object], now: int) -> list[K]:
        """Return what to report at `now`, in milliseconds, out of all that stands still then."""
        self._since = {each: self._since.get(each, now) for each in standing_still}
        self._told &= self._since.keys()
        due = [each for each, since in self._since.items() if now - since >= self._patience_ms]
        untold = [each for each in due if each not in self._told]
        self._told.update(untold)
        return untold
