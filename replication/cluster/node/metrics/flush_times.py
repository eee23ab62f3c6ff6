"""How often logs were flushed, and how long each flush took (Kafka: LogFlushStats)."""

from collections import deque
from pathlib import Path
from threading import Lock
from typing import Final

from logstore import LogObserver

_RECENT: Final = 1_000


class FlushTimes(LogObserver):
    """Observes all logs of a broker."""

    def __init__(self) -> None:
        """Begin with none."""
        self.count: int = 0
        self.seconds: float = 0.0
        self._recent: Final[deque[float]] = deque(maxlen=_RECENT)
        self._lock: Final = Lock()

    @property
    def recent(self) -> tuple[float, ...]:
        """The seconds that the latest ones took."""
        return tuple(self._recent.copy())

    def flushed(self, directory: Path, recovery_point: int, seconds: float) -> None:
        """Count it."""
        del directory, recovery_point
        with self._lock:
            self.count += 1
            self.seconds += seconds
            self._recent.append(seconds)
