"""How long to wait before the next attempt."""

from random import Random
from typing import Final

INITIAL_MS: Final = 100
"""Kafka: retry.backoff.ms."""
LONGEST_MS: Final = 1_000
"""Kafka: retry.backoff.max.ms, reconnect.backoff.max.ms."""
_JITTER: Final = 0.2


class BackOff:
    """Twice as long after each failure, up to a limit; with jitter, so that many do not retry at once (KIP-580)."""

    def __init__(
        self, initial_ms: int = INITIAL_MS, longest_ms: int = LONGEST_MS, random: Random | None = None
    ) -> None:
        """Begin with the shortest wait."""
        self._initial_ms = initial_ms
        self._longest_ms = longest_ms
        self._random = random or Random()  # noqa: S311 - no secret
        self._failures = 0

    def failed(self) -> int:
        """Return how many milliseconds to wait after one more failure."""
        wait = min(self._initial_ms << min(self._failures, 32), self._longest_ms)
        self._failures += 1
        return int(wait * self._random.uniform(1 - _JITTER, 1 + _JITTER))

    def succeeded(self) -> None:
        """Begin anew."""
        self._failures = 0
