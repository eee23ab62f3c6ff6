"""The lock around calls that change something, for logs and for directories of logs."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from typing import NoReturn

from epoch.base.forked import RefusedLock, detach_after_fork
from logstore.errors import ReentrantCallError


class CallGuard(ABC):
    """Allows one call at a time to change a thing: other threads wait; signal handlers and forks are refused."""

    def __init__(self, directory: Path, what: str) -> None:
        """Allow this process to change what is open in `directory`; errors call it `what`."""
        self._directory = directory
        self._what = what
        lock = RLock()
        self.lock: RLock | RefusedLock = lock
        """Held by whoever changes it."""
        # Looked at before the lock is taken: whatever is raised, and wherever, it is true.
        self.is_nested: Callable[[], bool] = lock._is_owned  # type: ignore[attr-defined]  # noqa: SLF001  Condition's way
        """Whether this thread is in the middle of a call that changes it: the lock itself would let it in."""
        self.is_inherited: bool = False
        """Whether this process was forked from the one that opened it."""
        detach_after_fork(self)

    def detach(self) -> None:
        """Refuse further calls, and leave everything as it is: for a forked process, whose copy has no lock."""
        self.is_inherited = True
        self.lock = RefusedLock(self.refuse)
        self.is_nested = _never

    @abstractmethod
    def refuse(self) -> NoReturn:
        """Raise why it cannot be changed; in a forked process, that it is another one's."""

    def ensure_not_nested(self) -> None:
        """Raise ReentrantCallError in the middle of a call of this thread that changes it."""
        if self.is_nested():
            self.refuse_nested()

    def refuse_nested(self) -> NoReturn:
        """Raise ReentrantCallError."""
        raise ReentrantCallError(
            f"this thread is already in a call of the {self._what}",
            file=self._directory,
            advice="do not use it in a signal handler that may interrupt such a call",
        )


def _never() -> bool:
    return False
