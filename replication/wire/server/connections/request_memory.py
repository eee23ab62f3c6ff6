"""The memory that requests take together."""

from collections import deque
from threading import Condition, Lock
from typing import Final

from replication.wire.server.hang_up import HangUpError


class RequestMemory:
    """So many bytes; who finds none left waits, and is served in the order of coming (Kafka: SimpleMemoryPool)."""

    def __init__(self, limit: int) -> None:
        """Create a pool of this many bytes; below 0 it is unlimited."""
        self._limit: Final = limit
        self._left = limit
        self._lock: Final = Lock()
        self._waiting: Final[deque[Condition]] = deque()
        self._is_closed = False

    def take(self, size: int) -> None:
        """Wait until there is any left, and take this much: even if it is more. HangUpError once it is closed."""
        if self._limit < 0:
            return
        with self._lock:
            if self._waiting or self._left <= 0:
                self._wait()
            if self._is_closed:
                raise HangUpError("stop", "the server is stopped")
            self._left -= size
            self._wake_next()

    def give_back(self, size: int) -> None:
        """Return this many bytes to the pool."""
        if self._limit < 0 or not size:
            return
        with self._lock:
            self._left += size
            self._wake_next()

    def close(self) -> None:
        """Fail current waiters."""
        with self._lock:
            self._is_closed = True
            for waiting in self._waiting:
                waiting.notify()

    def _wait(self) -> None:
        """Wait in FIFO order: if all were woken, the one that has waited longest might come last again and again."""
        turn = Condition(self._lock)
        self._waiting.append(turn)
        try:
            turn.wait_for(lambda: self._left > 0 or self._is_closed)
        finally:
            self._waiting.remove(turn)

    def _wake_next(self) -> None:
        if self._waiting and self._left > 0:
            self._waiting[0].notify()
