"""A controller that nobody hears from until the test says so."""

import time
from collections.abc import Callable
from threading import Event
from typing import Any

from replication.cluster.broker.lifecycle.errors import NoControllerError
from tests.replication.cluster.broker.member import SECONDS


def wait_until(holds: Callable[[], bool]) -> None:
    """Return once something holds, which other threads bring about."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Unanswering:
    """In the place of what asks a controller: no answer comes, and that is known once the test lets go."""

    def __init__(self) -> None:
        self.let_go = Event()
        self.asked: list[Any] = []

    def ask(self, request: object = None, timeout_ms: int | None = None) -> Any:
        self.asked.append((request, timeout_ms))
        assert self.let_go.wait(SECONDS)
        raise NoControllerError("nobody")

    def next_block(self) -> range:
        return range(self.ask())

    def close(self) -> None:
        self.let_go.set()
