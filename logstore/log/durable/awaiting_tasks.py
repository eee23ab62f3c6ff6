"""Tasks that wait for appends: a flush wakes each event loop once, however many of its tasks wait."""

from functools import partial
from threading import RLock
from typing import Protocol

from logstore.event_loop import EventLoop, Signal, running_loop


class Awaited(Protocol):
    """What is waited for."""

    def done(self) -> bool:
        """Return whether it need not be waited for any more."""


Waiting = tuple[Awaited, Signal]


class AwaitingTasks:
    """By event loop, what its tasks wait for."""

    def __init__(self) -> None:
        """Know of none."""
        self._by_loop: dict[EventLoop, list[Waiting]] = {}
        self._lock = RLock()

    def wait(self, appended: Awaited) -> Signal:
        """Return what the running task awaits until `appended` is done."""
        loop = running_loop()
        signal = loop.signal()
        with self._lock:
            if appended.done():
                signal.set()
            else:
                self._by_loop.setdefault(loop, []).append((appended, signal))
        return signal

    def wake(self) -> None:
        """Wake those whose appends are done."""
        with self._lock:
            for loop, waiting in [*self._by_loop.items()]:
                left = self._by_loop[loop] = [each for each in waiting if not each[0].done()]
                if not left:
                    del self._by_loop[loop]
                if len(left) < len(waiting):
                    loop.call_soon(partial(_wake, waiting))


def _wake(waiting: list[Waiting]) -> None:
    for appended, signal in waiting:
        if appended.done():
            signal.set()
