"""Objects that a forked process must not use, as their threads are not forked with it."""

from abc import ABC, abstractmethod

from epoch.base.forked import detach_after_fork
from epoch.errors import InheritedError


class OwnedByProcess(ABC):
    """Belongs to the process that made it."""

    def __init__(self) -> None:
        """Bind to the current process."""
        self._is_inherited = False
        detach_after_fork(self)

    def detach(self) -> None:
        """Refuse further calls, and leave everything as it is: for a forked process, which has none of the threads."""
        self._is_inherited = True

    @abstractmethod
    def _described(self) -> str:
        """Return a description of this object for messages."""

    def _ensure_own(self) -> None:
        if self._is_inherited:
            raise InheritedError(
                f"{self._described()} belongs to the process that forked this one: use it there, or open another one "
                "after the fork"
            )
