"""Something that threads do one after another, where one that fails shows that those who wait would fail as well."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Final

from replication.base.errors import ReplicationError


class TurnMissedError(ReplicationError, TimeoutError):
    """It was no use to wait any longer for one's turn."""


class Turns:
    """Gives one thread its turn at a time, in no certain order. Any thread may call anything."""

    def __init__(self) -> None:
        """Begin with nobody's turn."""
        self.waiting: int = 0
        """How many wait for their turn."""
        self._changed: Final = Condition()
        self._is_taken = False
        self._failures = 0
        self._reason = ""

    @contextmanager
    def turn(self, seconds: float | None = None) -> Iterator[None]:
        """Hold a turn, waiting for it this long at most.

        Raises TurnMissedError where it does not come in time, and as soon as `failed` is called meanwhile.
        """
        self._take(seconds)
        try:
            yield
        finally:
            with self._changed:
                self._is_taken = False
                self._changed.notify_all()

    def failed(self, reason: str) -> None:
        """Fail current waiters; later callers retry."""
        with self._changed:
            self._failures += 1
            self._reason = reason
            self._changed.notify_all()

    def _take(self, seconds: float | None) -> None:
        with self._changed:
            failures = self._failures
            self.waiting += 1
            self._changed.wait_for(lambda: not self._is_taken or self._failures != failures, seconds)
            self.waiting -= 1
            if self._failures != failures:
                raise TurnMissedError(f"the previous request failed: {self._reason}")
            if self._is_taken:
                raise TurnMissedError("timed out waiting for a turn")
            self._is_taken = True
