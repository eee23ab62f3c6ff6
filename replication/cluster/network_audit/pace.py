"""How long to wait before more is fetched from a broker: by a rate that must not be exceeded, and as it asks for."""

from dataclasses import dataclass
from typing import Final

LONGEST_PAUSE: Final = 60.0
"""Seconds that a broker is obeyed when it asks us to wait."""


@dataclass(slots=True)
class Pace:
    """The pace of fetches from one broker; times are in seconds, by any clock.

    >>> pace = Pace(bytes_per_second=1_000)
    >>> pace.pause(now=0, size=500), pace.pause(now=0.25, size=500)
    (0.5, 0.75)
    """

    bytes_per_second: int | None = None
    _free_at: float = 0.0
    """When what was fetched so far is paid for."""

    def pause(self, *, now: float, size: int, throttle_time_ms: int = 0) -> float:
        """Return how long to wait after an answer of so many bytes."""
        if self.bytes_per_second is not None:
            self._free_at = max(self._free_at, now) + size / self.bytes_per_second
        return max(self._free_at - now, min(throttle_time_ms / 1_000, LONGEST_PAUSE), 0.0)
