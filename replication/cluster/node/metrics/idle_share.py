"""How much of a processor a broker leaves unused."""

from collections import deque
from collections.abc import Callable
from threading import Lock
from time import monotonic, process_time
from typing import Final

_SECONDS: Final = 60.0
"""Over which it is reported, as far as it was asked for then (Kafka's meters: the last minute)."""


class IdleShare:
    """The share of one processor core that this process did not use: at 0 requests queue up.

    Kafka measures how idle its request handlers are. Here each connection has a thread, and Python runs one at a time.
    """

    def __init__(
        self, processor_seconds: Callable[[], float] = process_time, clock: Callable[[], float] = monotonic
    ) -> None:
        """Begin to look."""
        self._processor_seconds: Final = processor_seconds
        self._clock: Final = clock
        self._looks: Final = deque([(clock(), processor_seconds())])
        self._lock: Final = Lock()

    def take(self) -> float:
        """Return it, from 0 to 1, since it was asked for about a minute ago."""
        with self._lock:
            now, used = self._clock(), self._processor_seconds()
            while len(self._looks) > 1 and now - self._looks[1][0] >= _SECONDS:
                self._looks.popleft()
            since, used_before = self._looks[0]
            self._looks.append((now, used))
        return 1.0 if now <= since else min(1.0, max(0.0, 1 - (used - used_before) / (now - since)))
