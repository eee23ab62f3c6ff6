"""Who may change the segments that a log is compacted from: one compaction at a time, or who closes the log."""

from threading import RLock
from typing import Final


class CompactionTurn:
    """Taken before the lock of the log's guard, never after it.

    Whoever closes the log takes the turn too, so that nobody writes to its directory once its lock is released.
    """

    def __init__(self) -> None:
        """Create a turn that nobody has."""
        self.lock: Final = RLock()
        self.closings: int = 0
        """How often somebody wanted to close the log: a compaction that began before that ends."""

    @property
    def is_mine(self) -> bool:
        """Whether this thread has it: in a signal handler that interrupts its compaction, or in an observer."""
        return bool(self.lock._is_owned())  # type: ignore[attr-defined]  # noqa: SLF001  Condition's way

    def for_closing(self) -> RLock:
        """Return the lock to wait for, which a compaction under way is asked to release soon."""
        self.closings += 1
        return self.lock
