"""Requests to stores that are in flight at once: so many at most in one process, and so many bytes of answers."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from threading import Condition
from typing import Final

IN_FLIGHT: Final = 16
"""Requests of one process at once."""
HELD_BYTES: Final = 64 << 20
"""Of answers that are not written yet, in one process."""


class ByteBudget:
    """Bytes that may be held at once; who would take more waits until others are done."""

    def __init__(self, most: int) -> None:
        """Begin with all of them."""
        self._left = self._most = most
        self._changed = Condition()

    @contextmanager
    def held(self, size: int) -> Iterator[None]:
        """Hold so many for as long as it is entered; at most all that there are."""
        taken = min(size, self._most)
        with self._changed:
            self._changed.wait_for(lambda: self._left >= taken)
            self._left -= taken
        try:
            yield
        finally:
            with self._changed:
                self._left += taken
                self._changed.notify_all()


@lru_cache(maxsize=1)
def _answers(_process: int) -> ByteBudget:
    """Return what is left to hold: a forked process has none of the threads that would give back what they hold."""
    return ByteBudget(HELD_BYTES)


def held(size: int) -> AbstractContextManager[None]:
    """Hold so many bytes of answers for as long as it is entered."""
    return _answers(os.getpid()).held(size)


@contextmanager
def at_once(calls: Iterable[Callable[[], object]]) -> Iterator[None]:
    """Make these calls beside what is done while it is entered, and wait for them. Raises what the first raises."""
    pool = _pool(os.getpid())
    futures: list[Future[object]] = []
    try:
        futures.extend(pool.submit(call) for call in calls)
        yield
        for future in futures:
            future.result()
    finally:
        # What they write to goes now, also where somebody interrupts: a number of a closed file may be another's next.
        wait([future for future in futures if not future.cancel()])


@lru_cache(maxsize=1)
def _pool(_process: int) -> ThreadPoolExecutor:
    """Return what makes the calls: a forked process has none of the threads."""
    return ThreadPoolExecutor(IN_FLIGHT, "requests of stores")
