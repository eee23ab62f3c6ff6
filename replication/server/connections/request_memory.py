"""The memory that requests take together."""

from threading import Condition
from typing import Final

from replication.server.hang_up import HangUpError


class RequestMemory:
    """So many bytes; who finds none left waits (Kafka: SimpleMemoryPool)."""

    def __init__(self, limit: int) -> None:
        """Have so many bytes; fewer than 0: as many as are asked for."""
        self._limit: Final = limit
        self._left = limit
        self._changed: Final = Condition()
        self._is_closed = False

    def take(self, size: int) -> None:
        """Wait until there is any left, and take this much: even if it is more. HangUpError once it is closed."""
        if self._limit < 0:
            return
        with self._changed:
            self._changed.wait_for(lambda: self._left > 0 or self._is_closed)
            if self._is_closed:
                raise HangUpError("stop", "the server is stopped")
            self._left -= size

    def give_back(self, size: int) -> None:
        """Let others have it."""
        if self._limit < 0 or not size:
            return
        with self._changed:
            self._left += size
            self._changed.notify_all()

    def close(self) -> None:
        """Let nobody wait any more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
