"""How long a partition waits whose leader's answers bring it no further."""

from typing import Final

LONGEST_MS: Final = 10_000
"""However often: once the leader's answers make sense again, the partition goes on within this time."""
_REMEMBERED_MS: Final = 2 * LONGEST_MS


class Setbacks:
    """Counts the answers of a leader that brought a partition no further; each wait is twice as long as the last.

    A setback after a long time without any is the first one again. What was appended meanwhile makes no difference:
    a leader may send records and take them back in turn.
    """

    __slots__ = ("_count", "_free", "_last_at")

    def __init__(self) -> None:
        """Begin without any."""
        self._count = 0
        self._free = 0
        self._last_at = 0

    def wait_ms(self, now: int, back_off_ms: int, *, free: int = 0) -> int:
        """Count one more at `now`, in milliseconds, and return how long to wait; 0 for the first `free` of them.

        The largest `free` of a series counts: each setback may take away some of what explains them.
        """
        if now - self._last_at > _REMEMBERED_MS:
            self._count = self._free = 0
        self._count += 1
        self._free = max(self._free, free)
        self._last_at = now
        doublings = self._count - self._free - 1
        return min(back_off_ms << min(doublings, 16), max(back_off_ms, LONGEST_MS)) if doublings >= 0 else 0
