"""An append that is in the log, and waited for until it is on stable storage."""

from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any

from logstore.append.append_info import AppendInfo
from logstore.log.durable.awaiting_tasks import AwaitingTasks


class DurableAppend:
    """Done once the records of a `Log.submit` are on stable storage: `await` it, or call `result`.

    It is awaited in tasks of asyncio and trio. Any number of tasks and threads may wait for one, each as often as it
    likes. The append itself cannot be taken back: a task that is cancelled, or a wait that runs out of time, leaves the
    others and the records as they are.
    """

    __slots__ = ("_ensure_own", "_future", "_tasks")

    def __init__(self, future: Future[AppendInfo], tasks: AwaitingTasks, ensure_own: Callable[[], None]) -> None:
        """Wait for what `Log.append` with `durable=True` returns; `tasks` are woken behind each flush.

        `ensure_own` raises in a forked process, where nobody flushes.
        """
        self._ensure_own = ensure_own
        self._future = future
        self._tasks = tasks

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'done' if self.done() else 'pending'})"

    def done(self) -> bool:
        """Return whether it is on stable storage, or cannot be: `result` does not wait then."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> AppendInfo:
        """Return what the append did, once it is on stable storage.

        Raises TimeoutError after so many seconds, and what the flush raised: OSError, LogPoisonedError, LogClosedError,
        which a forked process gets at once for what is pending.
        """
        if not self._future.done():
            self._ensure_own()
        return self._future.result(timeout)

    def __await__(self) -> Generator[Any, None, AppendInfo]:
        if not self._future.done():
            self._ensure_own()
            yield from self._tasks.wait(self._future).__await__()
        return self._future.result()
