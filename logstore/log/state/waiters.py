"""Who waits for a log to change: threads and event loops, each woken without a lock."""

from _thread import allocate_lock
from collections.abc import Iterator
from contextlib import suppress
from typing import Protocol
from weakref import ref

from logstore.event_loop import running_loop


class Waiter(Protocol):
    """What can be woken, by any thread and in the middle of any call."""

    def wake(self) -> None:
        """Make it check again. Returns at once."""


class Waiters(dict[int, "ref[Waiter]"]):
    """Those that wait for one kind of change; false while nobody does, which is all that an append looks at.

    They are held weakly: whatever is raised in a wait, none outlives it. Each step is one of a dict's, which are whole
    for threads and signal handlers alike.
    """

    def add(self, waiter: Waiter) -> None:
        """Wake it from now on. It must look at the log once more before it waits."""
        key = id(waiter)
        self[key] = ref(waiter, lambda _: self.pop(key, None))

    def remove(self, waiter: Waiter) -> None:
        """Wake it no more."""
        self.pop(id(waiter), None)

    def wake(self) -> None:
        """Wake them all: what they wait for may be there."""
        for waiter in self.living():
            waiter.wake()

    def living(self) -> Iterator[Waiter]:
        """Give those that somebody holds yet."""
        for held in list(self.values()):
            waiter = held()
            if waiter is not None:
                yield waiter


class ThreadWaiter:
    """A thread that waits."""

    __slots__ = ("__weakref__", "_turn")

    def __init__(self) -> None:
        """Create a waiter that is not woken."""
        self._turn = allocate_lock()
        self._turn.acquire()

    def wake(self) -> None:
        """Wake the thread, or keep it from beginning to wait."""
        with suppress(RuntimeError):  # it is awake already
            self._turn.release()

    def wait(self, seconds: float | None = None) -> bool:
        """Return once woken: True; False where that took too long. Signal handlers run meanwhile."""
        return self._turn.acquire(timeout=-1 if seconds is None else seconds)


class LoopWaiter:
    """A task that waits, in the event loop that runs as this is made."""

    __slots__ = ("__weakref__", "_changed", "_is_told", "_loop")

    def __init__(self) -> None:
        """Create a waiter that is not woken."""
        self._loop = running_loop()
        self._changed = self._loop.signal()
        self._is_told = False

    def wake(self) -> None:
        """Wake the loop, once until the task has woken: however much is appended, it is not flooded."""
        try:
            if not self._is_told:
                self._is_told = True
                self._loop.call_soon(self._set)
        except BaseException:
            self._is_told = False
            raise

    async def wait(self, seconds: float | None = None) -> bool:
        """Return once woken: True; False where that took too long."""
        try:
            return await self._loop.in_time(self._until_set(), seconds)
        finally:
            self._changed = self._loop.signal()
            self._is_told = False

    async def _until_set(self) -> None:
        await self._changed

    def _set(self) -> None:
        self._changed.set()
