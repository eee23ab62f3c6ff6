"""A channel to the controller that hands each request to the test, and waits for what the test answers."""

import queue
from contextlib import suppress
from typing import Any

from replication.cluster.broker.lifecycle.errors import NoControllerError
from replication.cluster.broker.lifecycle.lifecycle import BrokerState
from replication.cluster.broker.lifecycle.lifecycle_thread import LifecycleThread
from replication.wire.addresses import Address
from tests.replication.cluster.broker.member import SECONDS


class ScriptedChannel:
    """In the place of a ControllerChannel."""

    address = Address("controller", 9093)
    may_arrive_late = False

    def __init__(self) -> None:
        self.requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.timeouts: list[int | None] = []
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def ask(self, request: Any, timeout_ms: int | None = None) -> Any:
        self.timeouts.append(timeout_ms)
        self.requests.put(request)
        answer = self._answers.get(timeout=SECONDS)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        self._answers.put(NoControllerError("the channel was closed"))

    def answer(self, answer: object) -> None:
        """Let the thread that waits go on."""
        self._answers.put(answer)

    def expect(self, kind: type, answer: object) -> Any:
        """Take the next request, which is of this kind, and answer it."""
        request = self.requests.get(timeout=SECONDS)
        assert isinstance(request, kind)
        self.answer(answer)
        return request

    def answer_until(self, state: BrokerState, thread: LifecycleThread, answer: object) -> None:
        """Answer all requests alike until the broker is in this state."""
        while thread.state < state:
            with suppress(queue.Empty):
                self.requests.get(timeout=0.01)
                self.answer(answer)
