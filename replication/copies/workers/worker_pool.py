"""Processes that share work: one that dies is replaced, and what it was doing is done again."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from replication.base.errors import WorkerDiedError
from replication.copies.workers.worker_calls import Call, receive, send

ATTEMPTS: Final = 4
"""How often a call is tried whose worker dies each time: as often as Spark tries a task."""
_COMMAND: Final = ("-P", "-m", "replication.copies.workers.worker")
Result = TypeVar("Result")


class Worker:
    """One process, which is started with its first call."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False
        self._lock = threading.Lock()
        """Held while a process is started: none is once this is closed."""

    def call(self, call: Call) -> Any:
        """Return what the function returns, or raise what it raises.

        Raises WorkerDiedError where the process dies again and again, and OSError where none can be started.
        """
        status = 0
        for _ in range(ATTEMPTS):
            process = self._process or self._started()
            if process is None:
                break
            try:
                send(process.stdin, call)  # type: ignore[arg-type]  # it has pipes
                value, error = receive(process.stdout)  # type: ignore[arg-type]  # it has pipes
            except (EOFError, OSError, ValueError):  # the last one of a pipe that is closed
                status = self._end(process)
                continue
            if error is not None:
                raise error
            return value
        raise WorkerDiedError(status, ATTEMPTS)

    def close(self) -> None:
        """End the process, whatever it is doing."""
        with self._lock:
            self._is_closed = True
            process = self._process
        if process is not None:
            self._end(process)

    def _started(self) -> subprocess.Popen[bytes] | None:
        # What this process imports, the worker does; an interrupt at the terminal is this process's to handle.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        with self._lock:
            if self._is_closed:
                return None
            self._process = subprocess.Popen(  # noqa: S603  this library's own module
                [sys.executable, *_COMMAND],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                process_group=0,
            )
            return self._process

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        self._process = None
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # a message that nobody will read
                pipe.close()  # type: ignore[union-attr]  # it has pipes
        return process.wait()


class WorkerPool:
    """Does calls in several processes, or with no workers in this one, one after the other."""

    def __init__(self, workers: int) -> None:
        """Start processes as they are needed, and `workers` at most."""
        self._workers: list[Worker] = []
        self._of_thread = threading.local()
        self._threads = ThreadPoolExecutor(workers, "worker", self._begin) if workers else None

    def map(self, function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Result]:
        """Do a function of a module with each of the arguments, and give the results in their order.

        Raises what the function raises, WorkerDiedError, OSError.
        """
        for outcome in self.outcomes(function, arguments):
            if isinstance(outcome, WorkerDiedError):
                raise outcome
            yield outcome

    def outcomes(
        self, function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]
    ) -> Iterator[Result | WorkerDiedError]:
        """Do the same, but give a WorkerDiedError as the outcome of the call whose workers have died, and go on."""
        calls = (Call(function, each) for each in arguments)
        if self._threads is None:
            for call in calls:
                yield call.function(*call.arguments)
            return
        futures: list[Future[Result]] = [self._threads.submit(self._call, call) for call in calls]
        for future in futures:
            try:
                yield future.result()
            except WorkerDiedError as error:
                yield error

    def close(self) -> None:
        """End all processes."""
        if self._threads is None:
            return
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.close()
        self._threads.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self) -> None:
        """Give a thread its worker."""
        self._of_thread.worker = worker = Worker()
        self._workers.append(worker)

    def _call(self, call: Call) -> Any:
        return self._of_thread.worker.call(call)
