"""An answer that a connection waits for, and that another one's request may make possible (Kafka: DelayedOperation)."""

import math
import time
from _thread import allocate_lock
from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
from typing import Final

from logstore.log.state.waiters import ThreadWaiter
from replication.wire.server.connections.stream import Stream
from replication.wire.server.conversation import Waiting

_MANY: Final = 128
_TOGETHER: Final = 32
_APART_SECONDS: Final = 0.005
"""Each that is given its answer goes on in its own thread: beyond `_MANY`, so many together, and so long apart, as
thousands that wake at once keep all others from theirs."""


class _ThisThread(local):
    due: "list[AwaitedAnswer] | None" = None
    """Answers that its request may have made possible; None of a thread that gives no answers."""


_THIS_THREAD: Final = _ThisThread()


@contextmanager
def giving_answers() -> Iterator[None]:
    """Send the answers that this thread makes possible by `give_due_answers`; without that it wakes threads."""
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
        for number, awaited in enumerate(dict.fromkeys(due)):
            if number >= _MANY and number % _TOGETHER == 0:
                time.sleep(_APART_SECONDS)
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
        self._until = math.inf
        """When its own thread looks again by itself, by `time.monotonic()`."""
        self._rest: bytes = b""
        self._failure: Exception | None = None

    def wake(self) -> None:
        """Look for an answer: in this thread once it holds no locks, or in the connection's own."""
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
            if self._waiting is None or not (self._is_found() or self._is_due_earlier()):
                return
        except Exception as error:  # noqa: BLE001  raised where the connection's own thread can end it
            self._failure = error.with_traceback(None)  # which may hold views of a log
        finally:
            self._turn.release()
        self._waiter.wake()

    # --- its connection's own thread

    @contextmanager
    def attending(self, waiting: Waiting) -> Iterator[None]:
        """Wait for this answer."""
        self._until, self._rest, self._failure = math.inf, b"", None
        self._waiting = waiting
        waiting.attend(self)
        try:
            yield
        finally:
            with self._turn:
                self._waiting, self._until = None, math.inf
            waiting.leave(self)

    def look(self) -> bool:
        """Return whether the answer is sent, as far as it can be at once. Raises what `Waiting.parts` raises."""
        with self._turn:
            waiting = self._waiting
            if waiting is not None:
                self._until = waiting.deadline
                return self._is_found()
        if self._failure is None:
            return True
        failure, self._failure = self._failure, None
        try:
            raise failure
        finally:
            del failure  # else it would hold itself, by its traceback

    def take_rest(self) -> bytes:
        """Return what is still to be sent, and hold it no more."""
        rest, self._rest = self._rest, b""
        return rest

    def wait(self, most: float) -> bool:
        """Return once woken: True; False at the deadline, or after `most` seconds."""
        return self._waiter.wait(min(max(0.0, self._until - time.monotonic()), most))

    def interrupt(self) -> None:
        """End a `wait`."""
        self._waiter.wake()

    # --- with the turn held

    def _is_found(self) -> bool:
        """Look, and send what can be sent at once; what has raised is not looked for again."""
        waiting, self._waiting = self._waiting, None
        parts = None if waiting is None else waiting.parts(time.monotonic())
        if parts is None:
            self._waiting = waiting
            return False
        self._rest = self._stream.offer(parts)
        return True

    def _is_due_earlier(self) -> bool:
        """Whether its own thread would look too late: what it waits for may change its deadline."""
        return self._waiting is not None and self._waiting.deadline < self._until
