"""The syncs of a log's files, one at a time, and none after one that has failed."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

from epoch.base.resource_limits import is_limit
from logstore.log.state.log_guard import CLOSED

if TYPE_CHECKING:
    from collections.abc import Callable

    from logstore.log.state.log_guard import LogGuard


class LoneSync:
    """Sees to it that nobody takes for synced what another sync was told is lost.

    The system reports a page that could not be written once, and the next sync of the file succeeds.
    """

    def __init__(self, guard: LogGuard) -> None:
        """Poison a log by its guard, whose lock may be taken before a sync, and is not taken within one."""
        self._guard = guard
        self._lock = RLock()
        self._failure: OSError | None = None

    def do(self, bring_down: Callable[[], None]) -> None:
        """Sync files by a call; where that fails, the log is poisoned. Raises OSError, LogPoisonedError."""
        try:
            with self._lock:
                failure = self._failure
                if failure is None:
                    self._attempt(bring_down)
                    return
        except OSError as error:
            if not is_limit(error):
                self._poison(error)
            raise
        self._poison(failure)
        self._guard.refuse()

    def _attempt(self, bring_down: Callable[[], None]) -> None:
        try:
            bring_down()
        except OSError as error:
            if not is_limit(error):
                self._failure = error
            raise

    def _poison(self, error: OSError) -> None:
        with self._guard.lock:
            if self._guard.state is not CLOSED:  # it is to stay closed
                self._guard.poison(error)
