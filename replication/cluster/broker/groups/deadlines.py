"""The earliest of many times, each of which may change."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from math import inf
from typing import Final

_SPARE: Final = 64
"""So many times that are no more may be kept beside as many as there are."""


class Deadlines:
    """By key. What is asked for all the time, the earliest, takes no look at each."""

    def __init__(self) -> None:
        """Create it without deadlines."""
        self._at: Final[dict[str, float]] = {}
        self._heap: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._at)

    def __contains__(self, key: object) -> bool:
        return key in self._at

    def put(self, key: str, at: float) -> None:
        """Set a key's deadline, in place of its previous one; infinity for never."""
        self._at[key] = at
        heappush(self._heap, (at, key))
        if len(self._heap) > 2 * len(self._at) + _SPARE:
            self._heap = [(at, key) for key, at in self._at.items()]
            heapify(self._heap)

    def discard(self, key: str) -> None:
        """Remove a key's deadline, if it has one."""
        self._at.pop(key, None)

    @property
    def earliest(self) -> float:
        """Infinity where there is none."""
        heap = self._heap
        while heap and self._at.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else inf

    def due(self, now: float) -> Iterator[str]:
        """Yield the key of the earliest as long as that is not after now, and have it no more."""
        while self._at and self.earliest <= now:
            _, key = heappop(self._heap)
            del self._at[key]
            yield key
