"""Whether a wall clock can be trusted, decided by a clock that nobody sets, and by the clocks of others."""

from typing import Final, NamedTuple

HOUR_MS: Final = 3_600_000
_DRIFT: Final = 1_000
"""A wall clock that is brought to the right time slowly gains less than one part of so many."""


class ClockDoubt(NamedTuple):
    """Why a wall clock is not trusted."""

    ahead_ms: int | None
    """So much it has gone further than the steady clock; None where no other node's clock was heard yet."""

    def __str__(self) -> str:
        """Describe what is wrong."""
        if self.ahead_ms is None:
            return "no other node's clock has confirmed this one yet"
        return f"the wall clock is {self.ahead_ms / HOUR_MS:,.1f} h ahead of the time that has passed"


class ClockWatch:
    """Holds a wall clock against a steady one. Times are milliseconds, of which that of the steady one is any.

    A wall clock that goes ahead takes the records of months for old at once. It may be right: somebody has set it, or
    the machine had been held. Who confirms it knows. Going back does no harm, but from there on it may go ahead again.
    """

    def __init__(self, wall_ms: int, steady_ms: int, *, jump_max_ms: int = HOUR_MS, is_confirmed: bool = True) -> None:
        """Trust the wall clock as it is now; unless it `is_confirmed`, only once another one agrees with it.

        `jump_max_ms` is how far it may go ahead, or be ahead of others.
        """
        self._wall_ms = wall_ms
        self._steady_ms = steady_ms
        self._jump_max_ms = jump_max_ms
        self._is_confirmed = is_confirmed

    def doubt(self, wall_ms: int, steady_ms: int) -> ClockDoubt | None:
        """Return why the wall clock is not to be trusted now; None where it is."""
        passed_ms = max(steady_ms - self._steady_ms, 0)
        ahead_ms = wall_ms - self._wall_ms - passed_ms
        # What is trusted goes after a clock that is set back, and after one that is slowly brought ahead.
        self._wall_ms += passed_ms + min(ahead_ms, passed_ms // _DRIFT)
        self._steady_ms = max(steady_ms, self._steady_ms)
        if ahead_ms > self._jump_max_ms:
            return ClockDoubt(ahead_ms)
        return None if self._is_confirmed else ClockDoubt(None)

    def confirm(self, wall_ms: int, steady_ms: int) -> None:
        """Trust the wall clock as it is now: who calls this knows that it is right."""
        self._wall_ms, self._steady_ms, self._is_confirmed = wall_ms, steady_ms, True

    def hear(self, other_ms: int, wall_ms: int, steady_ms: int) -> None:
        """Note what another node's clock showed by now: the wall clock is trusted unless it is far ahead."""
        if wall_ms - other_ms <= self._jump_max_ms:
            self.confirm(wall_ms, steady_ms)
