"""An append that is in the log, and waited for until it is on stable storage."""

from collections.abc import Callable, Generator
from concurrent.futures import Future
from threading import RLock
from typing import Any

from logstore.append.append_info import AppendInfo
from logstore.log.durable.awaiting_tasks import AwaitingTasks


class Waiters:
    """Who waits for the appends of one log: threads, by a lock they share, and tasks."""

    __slots__ = ("ensure_own", "lock", "tasks")

    def __init__(self, ensure_own: Callable[[], None]) -> None:
        """Call `ensure_own` before somebody waits: it raises in a forked process, where nobody flushes."""
        self.ensure_own = ensure_own
        self.lock = RLock()
        self.tasks = AwaitingTasks()


class DurableAppend:
    """Done once the records of a `Log.submit` are on stable storage: `await` it, or call `result`.

    It is awaited in tasks of asyncio and trio. Any number of tasks and threads may wait for one, each as often as it
    likes. The append itself cannot be taken back: a task that is cancelled, or a wait that runs out of time, leaves the
    others and the records as they are.
    """

    __slots__ = ("_failure", "_future", "_info", "_is_done", "_waiters")

    def __init__(self, info: AppendInfo, waiters: Waiters) -> None:
        """Wait for an append that was made, among those of its log."""
        self._info = info
        self._waiters = waiters
        self._is_done = False
        self._failure: BaseException | None = None
        self._future: Future[AppendInfo] | None = None
        """What threads wait for: most appends are waited for by tasks, which need none."""

    def __repr__(self) -> str:
        return f"DurableAppend({'done' if self._is_done else 'pending'})"

    def done(self) -> bool:
        """Return whether it is on stable storage, or cannot be: `result` does not wait then."""
        return self._is_done

    def result(self, timeout: float | None = None) -> AppendInfo:
        """Return what the append did, once it is on stable storage.

        Raises TimeoutError after so many seconds, and what the flush raised: OSError, LogPoisonedError, LogClosedError,
        which a forked process gets at once for what is pending.
        """
        if self._is_done:
            return self._outcome()
        self._waiters.ensure_own()
        return self._as_future().result(timeout)

    def __await__(self) -> Generator[Any, None, AppendInfo]:
        if not self._is_done:
            self._waiters.ensure_own()
            yield from self._waiters.tasks.wait(self).__await__()
        return self._outcome()

    def _as_future(self) -> Future[AppendInfo]:
        """Return the future of it, which is one for all, and cannot be cancelled: the records are in the log."""
        with self._waiters.lock:
            future = self._future
            if future is None:
                future = Future()
                future.set_running_or_notify_cancel()
                if self._is_done:
                    self._complete(future)
                self._future = future
            return future

    def _complete(self, future: Future[AppendInfo]) -> None:
        if self._failure is None:
            future.set_result(self._info)
        else:
            future.set_exception(self._failure)

    def _outcome(self) -> AppendInfo:
        if self._failure is not None:
            raise self._failure
        return self._info
