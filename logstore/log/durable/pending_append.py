"""A durable append, for the thread that flushes."""

from concurrent.futures import Future

from logstore.append.append_info import AppendInfo
from logstore.log.durable.durable_append import DurableAppend


class PendingAppend(DurableAppend):
    """What `Log.submit` returns, with what its callers do not need."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """Bytes that were appended."""
        return self._info.size

    def as_future(self) -> Future[AppendInfo]:
        """Return the future of it, which is one for all, and cannot be cancelled: the records are in the log."""
        return self._as_future()

    def settle(self, failure: BaseException | None) -> None:
        """Mark it as done, or failed; the caller holds the waiters' lock, and calls `wake` without it."""
        self._failure = failure
        self._is_done = True

    def wake(self) -> None:
        """Wake the threads that wait. Callbacks of the future raise what they raise."""
        future = self._future
        if future is not None and not future.done():
            self._complete(future)
