"""Periodic tasks, without a thread of their own."""

from collections.abc import Callable, Iterator

Task = Callable[[], object]


class PeriodicTasks:
    """Tasks and when each is due next; times are milliseconds of any clock that does not go back."""

    def __init__(self, tasks: dict[Task, int], now_ms: int) -> None:
        """Create a schedule with each task's interval; the first runs are due one interval from now."""
        self._intervals = tasks
        self._due = {task: now_ms + interval for task, interval in tasks.items()}

    def due(self, now_ms: int) -> Iterator[Task]:
        """Yield the tasks that are due, each once however late it is."""
        for task, interval in self._intervals.items():
            if now_ms >= self._due[task]:
                self._due[task] = now_ms + interval
                yield task
