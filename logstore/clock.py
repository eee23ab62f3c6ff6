"""What time it is."""

import time
from collections.abc import Callable
from threading import RLock
from typing import Final

from epoch.base.forked import detach_after_fork
from logstore.clock_watch import HOUR_MS, ClockDoubt, ClockWatch

_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""It goes on while the machine sleeps, where the system has such a clock."""


def now_ms() -> int:
    """Return the time in milliseconds since 1970 UTC: the default clock of logs."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Return milliseconds that only go on, whatever is done to the clock."""
    return time.monotonic_ns() // 1_000_000


def steady_ms() -> int:
    """Return the milliseconds of a clock that nobody sets."""
    return time.clock_gettime_ns(_STEADY) // 1_000_000


class WatchedClock:
    """The system's time, and whether it is trusted: a log deletes nothing by age while it is not.

    >>> Log.open("queue-0", keep=timedelta(days=7), clock=WatchedClock(jump_max_ms=60_000))
    """

    def __init__(self, *, jump_max_ms: int = HOUR_MS, is_confirmed: bool = True) -> None:
        """Watch the clock from now on; see `ClockWatch`."""
        self._watch = ClockWatch(now_ms(), steady_ms(), jump_max_ms=jump_max_ms, is_confirmed=is_confirmed)
        self._lock = RLock()
        detach_after_fork(self)

    def __repr__(self) -> str:
        return f"WatchedClock(doubt={self.doubt})"

    def __call__(self) -> int:
        """Return the time in milliseconds since 1970 UTC."""
        return now_ms()

    @property
    def doubt(self) -> ClockDoubt | None:
        """Why the time is not trusted now; None where it is."""
        with self._lock:
            return self._watch.doubt(now_ms(), steady_ms())

    def confirm(self) -> None:
        """Trust the time as it is now: for an operator who has looked."""
        with self._lock:
            self._watch.confirm(now_ms(), steady_ms())

    def hear(self, other_ms: int) -> None:
        """Note the time of another node's clock, in milliseconds since 1970 UTC, as of now or before."""
        with self._lock:
            self._watch.hear(other_ms, now_ms(), steady_ms())

    def detach(self) -> None:
        """Go on in a forked process, where nobody else holds the lock."""
        self._lock = RLock()


CLOCK: Final = WatchedClock()
"""That of all logs which were given none: watched since the process has imported it."""


def watched(clock: Callable[[], int]) -> WatchedClock | None:
    """Return what watches a log's clock; None where the caller has one of its own."""
    if clock is now_ms:
        return CLOCK
    return clock if isinstance(clock, WatchedClock) else None
