"""Tasks of asyncio that wait for appends: a flush wakes each event loop once, however many of its tasks wait."""

from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING

from logstore.append.append_info import AppendInfo

if TYPE_CHECKING:
    import asyncio

    Waiting = tuple[Future[AppendInfo], asyncio.Future[None]]


class AwaitingTasks:
    """By event loop, what its tasks wait for."""

    def __init__(self) -> None:
        """Know of none."""
        self._by_loop: dict[asyncio.AbstractEventLoop, list[Waiting]] = {}
        self._lock = RLock()

    def wait(self, appended: Future[AppendInfo]) -> "asyncio.Future[None]":
        """Return what the running task awaits until `appended` is done."""
        from asyncio import get_running_loop  # noqa: PLC0415  programs without it do not pay for loading it

        loop = get_running_loop()
        task: asyncio.Future[None] = loop.create_future()
        with self._lock:
            if appended.done():
                task.set_result(None)
            else:
                self._by_loop.setdefault(loop, []).append((appended, task))
        return task

    def wake(self) -> None:
        """Wake those whose appends are done."""
        with self._lock:
            for loop, waiting in [*self._by_loop.items()]:
                left = self._by_loop[loop] = [each for each in waiting if not each[0].done()]
                if not left:
                    del self._by_loop[loop]
                if len(left) < len(waiting):
                    with suppress(RuntimeError):  # the loop is closed, and its tasks are gone with it
                        loop.call_soon_threadsafe(_wake, waiting)


def _wake(waiting: "Iterable[Waiting]") -> None:
    for appended, task in waiting:
        if appended.done() and not task.done():
            task.set_result(None)
