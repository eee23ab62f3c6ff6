"""An answer that a connection waits for, and that another one's request may make possible (Kafka: DelayedOperation)."""

import time
from _thread import allocate_lock
from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
from typing import Final

from logstore.log.state.waiters import ThreadWaiter
from replication.server.connections.stream import Stream
from replication.server.conversation import Waiting


class _ThisThread(local):
    due: "list[AwaitedAnswer] | None" = None
    """Answers that its request may have made possible; None of a thread that gives no answers."""


_THIS_THREAD: Final = _ThisThread()


@contextmanager
def giving_answers() -> Iterator[None]:
    """Let this thread give the answers that it makes possible, by `give_due_answers`; without that it wakes threads."""
    _THIS_THREAD.due = []
    try:
        yield
    finally:
        give_due_answers()
        _THIS_THREAD.due = None


def give_due_answers() -> None:
    """Give what this thread has made possible since (Kafka: ActionQueue.tryCompleteActions).

    To be called without locks, and before the thread waits for anything: the others wait for it.
    """
    while due := _THIS_THREAD.due:
        _THIS_THREAD.due = []
        for awaited in dict.fromkeys(due):
            awaited.give()


class AwaitedAnswer:
    """Sent by whichever thread first finds it possible, as far as that can be done without waiting.

    A producer's thread so sends what it has appended to those who fetch, and a follower's fetch sends the producer its
    answer: to wake the threads that they belong to takes longer than to do their work.
    """

    def __init__(self, stream: Stream) -> None:
        """Wait for nothing yet; its connection sends by `stream`."""
        self._stream: Final = stream
        self._waiter: Final = ThreadWaiter()
        self._turn: Final = allocate_lock()
        self._waiting: Waiting | None = None
        self._rest: bytes = b""
        self._failure: Exception | None = None

    def wake(self) -> None:
        """Have an answer, maybe: looked for by this thread once it holds no locks, or by the connection's own."""
        due = _THIS_THREAD.due
        if due is None:
            self._waiter.wake()
        else:
            due.append(self)

    def give(self) -> None:
        """Send the answer if there is one; what it cannot send at once is left to the connection's own thread."""
        if not self._turn.acquire(blocking=False):
            self._waiter.wake()  # whoever looks may have looked too early
            return
        try:
            if self._waiting is None or not self._look(self._waiting):
                return
        except Exception as error:  # noqa: BLE001  raised where the connection's own thread can end it
            self._waiting, self._failure = None, error.with_traceback(None)  # which may hold views of a log
        finally:
            self._turn.release()
        self._waiter.wake()

    # --- its connection's own thread

    @contextmanager
    def attending(self, waiting: Waiting) -> Iterator[None]:
        """Wait for this answer."""
        self._waiting, self._rest, self._failure = waiting, b"", None
        waiting.attend(self)
        try:
            yield
        finally:
            with self._turn:
                self._waiting = None
            waiting.leave(self)

    def is_given(self) -> bool:
        """Whether the answer is sent, as far as it can be at once; looks for it. Raises what `Waiting.parts` raises."""
        with self._turn:
            if self._waiting is not None:
                return self._look(self._waiting)
        if self._failure is None:
            return True
        failure, self._failure = self._failure, None
        try:
            raise failure
        finally:
            del failure  # else it would hold itself, by its traceback

    @property
    def rest(self) -> bytes:
        """What is still to be sent."""
        return self._rest

    def wait(self, seconds: float) -> bool:
        """Return once woken: True; False where that took too long."""
        return self._waiter.wait(seconds)

    def interrupt(self) -> None:
        """End a `wait`."""
        self._waiter.wake()

    # --- with the turn held

    def _look(self, waiting: Waiting) -> bool:
        parts = waiting.parts(time.monotonic())
        if parts is None:
            return False
        self._waiting = None
        self._rest = self._stream.offer(parts)
        return True
