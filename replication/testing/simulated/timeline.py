"""What is yet to happen, and the clock that goes on as it does."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final, TypeAlias

Deed: TypeAlias = Callable[[], object]


class Timeline:
    """Milliseconds that pass only from one event to the next; what is due at the same time happens in order."""

    def __init__(self) -> None:
        """Begin at 0."""
        self.now_ms: int = 0
        self._due: Final[list[tuple[int, int, Deed]]] = []
        self._count = 0

    def after(self, milliseconds: int, do: Deed) -> None:
        """Schedule a call after this many milliseconds."""
        self._count += 1
        heappush(self._due, (self.now_ms + max(0, milliseconds), self._count, do))

    def next_until(self, end_ms: int) -> Deed | None:
        """Return what happens next, at whose time the clock stands then; at the end None, if nothing does before."""
        if not self._due or self._due[0][0] > end_ms:
            self.now_ms = end_ms
            return None
        self.now_ms, _, do = heappop(self._due)
        return do
