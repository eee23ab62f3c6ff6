"""A thread that runs a task periodically until it is stopped."""

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread, current_thread
from typing import Final

from epoch.base.resource_limits import no_more_threads

_PAUSE_SECONDS: Final = 0.1
"""After a failure: where even waiting fails, for want of memory, it is not tried without end."""


class PeriodicThread:
    """Calls `task` every `interval_ms`, from one interval after `start` on. The program may end without stopping it.

    If the task raises, even MemoryError, `threading.excepthook` is called and the thread continues.
    """

    def __init__(self, task: Callable[[], object], interval_ms: int, name: str) -> None:
        """Prepare the thread; see `start`."""
        self._task = task
        self._interval_seconds = interval_ms / 1_000
        self._stopped = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin. Raises ResourceLimitError where the process may have no more threads."""
        try:
            self._thread.start()
        except RuntimeError as error:
            raise no_more_threads(error) from error

    def stop(self) -> None:
        """Stop the thread; return once the task is not running and will not run again."""
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                if not self._stopped.wait(self._interval_seconds):
                    self._task()
            except Exception:  # noqa: BLE001  told
                self._tell()

    def _tell(self) -> None:
        """Report an error as one that ends a thread is reported, and go on, even without memory to report it."""
        with suppress(MemoryError):
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), self._thread)))
        time.sleep(_PAUSE_SECONDS)
