"""The connections that have nothing to do: one thread watches them all."""

import os
import selectors
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Condition, Thread
from typing import Final, Protocol

from epoch.base.resource_limits import ResourceLimitError, no_more_threads

_LOOK_SECONDS: Final = 1.0
"""How often it is looked who has been idle for too long."""
_MOST_BEGINNING: Final = 16
"""So many are woken at once: thousands of threads that wake together keep all others from theirs for seconds."""
_BEGINNING_SECONDS: Final = 0.05
"""Who takes longer than that for its first answer does not keep the next ones from being woken."""
_MANY: Final = 256
"""Beyond so many with a thread, nobody keeps it for a request that may come soon."""


class IdleConnection(Protocol):
    """What is watched."""

    @property
    def descriptor(self) -> int:
        """Its socket's."""

    @property
    def idle_until(self) -> float:
        """When it is closed unless something comes, by `time.monotonic()`."""

    def is_gone(self) -> bool:
        """Return whether the other side has hung up, and nothing is to be received."""

    def wake(self, begun: Callable[[], None]) -> None:
        """Go on in a thread, which calls `begun` once it has its first answer, waits or ends. ResourceLimitError."""

    def refuse(self, error: ResourceLimitError) -> None:
        """End for want of a thread."""

    def expire(self) -> None:
        """End as nothing has come in time."""

    def finish(self) -> None:
        """End as the other side is gone."""


class IdleConnections:
    """Wakes those to which something comes, one after the other, and ends those that are gone or idle for too long.

    A connection has a thread only while it is asked something, and a second longer.
    """

    def __init__(self) -> None:
        """Watch none; see `start`."""
        self._selector: Final = selectors.DefaultSelector()
        self._wakes, self._wake = os.pipe()
        self._selector.register(self._wakes, selectors.EVENT_READ)
        self._parked: Final[dict[int, IdleConnection]] = {}
        self._changed: Final = Condition()
        self._awake = 0
        self._beginning: Final[dict[int, float]] = {}
        """When those were woken that have no first answer yet, and have not had their time for it."""
        self._is_closed = False
        self._thread: Thread | None = None

    @property
    def is_crowded(self) -> bool:
        """Whether so many have a thread that who has just been answered should not keep its own."""
        return self._awake > _MANY

    def start(self, name: str) -> None:
        """Begin. Raises ResourceLimitError where the process may have no more threads."""
        thread = Thread(target=self._run, name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise no_more_threads(error) from error
        self._thread = thread

    def park(self, connection: IdleConnection) -> bool:
        """Watch one more, which has no thread from now on; False once there are to be none any more."""
        with self._changed:
            if self._is_closed:
                return False
            self._parked[connection.descriptor] = connection
            self._selector.register(connection.descriptor, selectors.EVENT_READ)
            return True

    def rested(self) -> None:
        """Note that a woken connection no longer has a thread."""
        with self._changed:
            self._awake -= 1

    def stop(self, seconds: float) -> None:
        """Watch nobody any more; those that are left stay as they are. It may be called again."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        with suppress(OSError):
            os.write(self._wake, b"\0")
        if self._thread is not None:
            self._thread.join(seconds)
        self.forget()

    def forget(self) -> None:
        """Close the selector: also in a forked process, whose sockets are those of the other one."""
        self._selector.close()
        for end in (self._wakes, self._wake):
            with suppress(OSError):
                os.close(end)
        self._wakes = self._wake = -1

    # --- the thread

    def _run(self) -> None:
        looks_at = time.monotonic() + _LOOK_SECONDS
        while not self._is_closed:
            for key, _ in self._selector.select(max(0.0, looks_at - time.monotonic())):
                connection = self._taken(key.fd)
                if connection is not None:
                    self._resume(connection)
            if time.monotonic() >= looks_at:
                self._end_idle()
                looks_at = time.monotonic() + _LOOK_SECONDS

    def _taken(self, descriptor: int) -> IdleConnection | None:
        with self._changed:
            connection = self._parked.pop(descriptor, None)
            if connection is not None:
                self._selector.unregister(descriptor)
            return connection

    def _resume(self, connection: IdleConnection) -> None:
        if connection.is_gone():
            connection.finish()
            return
        with self._changed:
            if len(self._beginning) >= _MOST_BEGINNING:
                left = min(self._beginning.values()) + _BEGINNING_SECONDS - time.monotonic()
                self._changed.wait_for(lambda: len(self._beginning) < _MOST_BEGINNING, max(0.0, left))
            now = time.monotonic()
            for late in [key for key, at in self._beginning.items() if now - at >= _BEGINNING_SECONDS]:
                del self._beginning[late]
            self._awake += 1
            self._beginning[id(connection)] = now
        try:
            connection.wake(lambda: self._begun(connection))
        except ResourceLimitError as error:
            self._begun(connection)
            self.rested()
            connection.refuse(error)

    def _begun(self, connection: IdleConnection) -> None:
        with self._changed:
            self._beginning.pop(id(connection), None)
            self._changed.notify_all()

    def _end_idle(self) -> None:
        now = time.monotonic()
        with self._changed:
            late = [descriptor for descriptor, each in self._parked.items() if each.idle_until <= now]
        for descriptor in late:
            connection = self._taken(descriptor)
            if connection is not None:
                connection.expire()
