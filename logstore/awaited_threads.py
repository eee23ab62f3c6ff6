"""Threads of which none works any more when they are left, even where a signal interrupts the start of one."""

from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import partial
from threading import Condition
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from epoch.base.resource_limits import no_more_threads

Made = TypeVar("Made")
Arguments = ParamSpec("Arguments")


class AwaitedThreads:
    """Up to so many threads at work on what is submitted in a `with` block.

    A block that ends in order waits for all of it; one that raises waits for what is begun, and the rest is never
    begun.
    """

    def __init__(self, number: int) -> None:
        self._threads = ThreadPoolExecutor(number)
        self._changes = Condition()
        self._at_work = 0
        self._is_left = False

    def submit(
        self, work: Callable[Arguments, Made], *arguments: Arguments.args, **options: Arguments.kwargs
    ) -> Future[Made]:
        """Run this in a thread. Raises ResourceLimitError where no thread can be started."""
        try:
            return self._threads.submit(self._do, partial(work, *arguments, **options))
        except RuntimeError as error:
            raise no_more_threads(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._threads.shutdown(cancel_futures=kind is not None)
        finally:
            self._leave()

    def _leave(self) -> None:
        # The executor knows nothing of a thread whose start was interrupted: it would not wait for it.
        with self._changes:
            self._is_left = True
        self._threads.shutdown(cancel_futures=True)
        with self._changes:
            self._changes.wait_for(lambda: not self._at_work)

    def _do(self, work: Callable[[], Made]) -> Made:
        with self._changes:
            if self._is_left:
                raise CancelledError
            self._at_work += 1
        try:
            return work()
        finally:
            with self._changes:
                self._at_work -= 1
                self._changes.notify_all()
