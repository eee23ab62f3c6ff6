"""The records of a log as it grows."""

from collections.abc import AsyncGenerator, Iterator
from functools import partial
from typing import Final

from logstore.batch.record import Record
from logstore.errors import LogClosedError
from logstore.event_loop import running_loop
from logstore.log.reading.isolation import Isolation
from logstore.log.reading.page_cache import is_in_memory, load
from logstore.log.reading.view_source import ViewSource
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_guard import CLOSED, LogGuard
from logstore.log.state.log_state import LogState
from logstore.log.state.waiters import LoopWaiter, ThreadWaiter
from logstore.segment.read_view import ReadView

_POISONED: Final = LogState.POISONED


class Tail:
    """Yields records, and waits for more: in threads by `for`, in tasks by `async for`, which needs no thread.

    Tasks are those of asyncio or trio. It ends when the log is closed and all was read, or after `close`, and can be
    iterated over again: it goes on from `position`. One thread or task iterates at a time.

    Iterating raises LogTruncatedError if the log is truncated below `position`, OffsetOutOfRangeError if records were
    deleted before they were read, LogClosedError if the log was closed before all was read, LogPoisonedError if it can
    grow no more, ReentrantCallError in a signal handler within a call of the log, and what `ReadView.records` raises.

    >>> for record in log.tail():
    ...     print(record.value)
    >>> async for record in log.tail():
    ...     print(record.value)
    """

    def __init__(self, contents: LogContents, guard: LogGuard, source: ViewSource, isolation: Isolation) -> None:
        """Read on where `source` does."""
        self._contents = contents
        self._guard = guard
        self._source = source
        self._isolation = isolation
        self._waiters = contents.end_waiters if isolation is Isolation.LOG_END else contents.watermark_waiters
        self._is_closed = False
        self._exhausted_at = -1
        """Up to where nothing was left to read when the log was looked at last."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(position={self.position}, isolation={self._isolation.name})"

    @property
    def position(self) -> int:
        """The offset to read next: the one after the last record that was yielded."""
        return self._source.place.offset

    def close(self) -> None:
        """End the iteration, even if it is waiting just now."""
        self._is_closed = True
        self._waiters.wake()

    def __iter__(self) -> Iterator[Record]:
        while True:
            view = self._look()
            if view is not None and not view.data:
                view = self._wait()
            if view is None:
                return
            yield from self._source.records(view)

    async def __aiter__(self) -> AsyncGenerator[Record, None]:
        loop = running_loop()
        while True:
            view = self._look()
            if view is not None and not view.data:
                view = await self._wait_async()
            if view is None:
                return
            if not is_in_memory(view.data):
                await loop.in_thread(partial(load, view.data))
            for record in self._source.records(view):
                yield record
            await loop.sleep(0)  # others get their turn, however much there is to read

    def _look(self) -> ReadView | None:
        """Return what there is to read now, which may be no bytes; None where nothing will follow any more."""
        if self._is_closed:
            return None
        limit = self._limit()
        try:
            view = self._source.read()
        except LogClosedError:
            if self._guard.state is CLOSED and limit == self._exhausted_at:
                return None
            raise
        if not view.data:
            self._exhausted_at = limit
            if self._guard.state is _POISONED:
                self._guard.refuse()
        return view

    def _limit(self) -> int:
        contents = self._contents
        if self._isolation is Isolation.LOG_END:
            return contents.end[0]
        if self._isolation is Isolation.HIGH_WATERMARK:
            return contents.high_watermark
        return contents.last_stable_offset

    def _wait(self) -> ReadView | None:
        self._guard.ensure_not_nested()
        waiter = ThreadWaiter()
        try:
            self._waiters.add(waiter)
            while True:
                view = self._look()
                if view is None or view.data:
                    return view
                waiter.wait()
        finally:
            self._waiters.remove(waiter)

    async def _wait_async(self) -> ReadView | None:
        waiter = LoopWaiter()
        try:
            self._waiters.add(waiter)
            while True:
                view = self._look()
                if view is None or view.data:
                    return view
                await waiter.wait()
        finally:
            self._waiters.remove(waiter)
