"""How long a leader works on one batch that a producer sends: few bytes may be much work."""

from time import monotonic
from typing import Final

from logstore.errors import RecordTooLargeError

PATIENCE_S: Final = 5.0
"""Seconds for each step, decompressing and looking at the records, of those whose work the bytes do not bound."""


class TimeLimit:
    """Begins when it is made."""

    def __init__(self, seconds: float = PATIENCE_S) -> None:
        """Allow so many seconds from now on."""
        self._seconds, self._end = seconds, monotonic() + seconds

    def ensure_left(self, done: str) -> None:
        """Raise RecordTooLargeError, which says what was `done`, where the time is up."""
        if monotonic() > self._end:
            raise RecordTooLargeError(f"{done} took more than {self._seconds:g} s", advice="send smaller batches")
