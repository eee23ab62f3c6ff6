"""A thread that does something again and again goes on whatever is raised, and somebody hears of it."""

import threading
from threading import Event

import pytest

from logstore.directory.periodic_thread import PeriodicThread

SECONDS = 20


@pytest.mark.parametrize("error", [MemoryError(), ValueError("a mistake")], ids=repr)
def test_what_is_raised_is_told_and_the_next_period_comes(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    told: list[BaseException | None] = []
    monkeypatch.setattr(threading, "excepthook", lambda hook: told.append(hook.exc_value))
    failures = [error]
    went_on = Event()

    def work() -> None:
        if failures:
            raise failures.pop()
        went_on.set()

    thread = PeriodicThread(work, 1, "works")
    thread.start()
    assert went_on.wait(SECONDS)
    thread.stop()
    assert told == [error]
