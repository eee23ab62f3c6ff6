"""One thread that does something again and again, until it is stopped."""

from collections.abc import Callable
from threading import Event, Thread, current_thread

from epoch.resource_limits import no_more_threads


class PeriodicThread:
    """Calls `task` every `interval_ms`, from one interval after `start` on. The program may end without stopping it."""

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
        """Return once the task does not run and never will again."""
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval_seconds):
            self._task()
