"""Memory that is used again: pages that the system gives anew cost more than a small piece of work in them."""

from collections import deque
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap


class SpareMemory:
    """Blocks of one size, each of which one user has at a time; what is in them means nothing.

    Pages come as they are written to, and are the process's own: one that is forked from it has others. It may be used
    by several threads, in handlers of signals and in finalizers.

    >>> memory = SpareMemory(1 << 20, kept=8)
    >>> block = memory.take()
    >>> memory.give(block)
    """

    def __init__(self, size: int, *, kept: int) -> None:
        """Keep so many blocks at most for their next use."""
        self.size = size
        self._unused: deque[mmap] = deque(maxlen=kept)

    def __len__(self) -> int:
        """Count the blocks that wait for their next use."""
        return len(self._unused)

    def take(self) -> mmap:
        """Return a block that nobody else has."""
        try:
            return self._unused.pop()
        except IndexError:
            return mmap(-1, self.size, MAP_PRIVATE | MAP_ANONYMOUS)

    def give(self, block: mmap) -> None:
        """Take a block back that nobody uses any more."""
        self._unused.append(block)
