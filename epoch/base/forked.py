"""What a forked process must leave alone: whose files and locks are those of the process that it was forked from.

Its copy of a lock may be held by a thread that was not copied with it, and would never be free.
"""

import os
from collections.abc import Callable
from types import TracebackType
from typing import Final, NoReturn, Protocol
from weakref import WeakSet


class Detachable(Protocol):
    """What has to learn that it is another process's now."""

    def detach(self) -> None:
        """Refuse further calls, without taking a lock."""


_known: Final[WeakSet[Detachable]] = WeakSet()


def detach_after_fork(thing: Detachable) -> None:
    """Call `thing.detach()` in each process that is forked from this one, while `thing` is referenced elsewhere."""
    _known.add(thing)


class RefusedLock:
    """Takes a lock's place in a forked process: an attempt to take it fails at once."""

    def __init__(self, refuse: Callable[[], NoReturn]) -> None:
        """Call `refuse` for whoever comes."""
        self._refuse = refuse

    def __enter__(self) -> NoReturn:
        self._refuse()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Release the lock: it was acquired before the fork, in the thread that forked."""


def _detach_all() -> None:
    failures: list[Exception] = []
    for thing in tuple(_known):
        try:
            thing.detach()
        except Exception as error:  # noqa: BLE001  whatever is wrong with one, no other may be left as it was
            failures.append(error)
    if failures:
        raise ExceptionGroup("a forked process may still use what is another's", failures)


os.register_at_fork(after_in_child=_detach_all)
