"""Hundreds of connections in one thread, each of which asks what its generator says."""

import selectors
import socket
import time
from collections.abc import Generator, Iterable
from typing import Any

from replication.wire.addresses import Address
from replication.wire.client.exchange import Exchange
from replication.wire.encoding.framing import FrameReader

Questions = Generator[Any, Any, None]
"""Yields requests, and is sent their answers."""
_LOOK_SECONDS = 0.2


class AskingClient:
    """Sends one request after the other."""

    def __init__(self, address: Address, questions: Questions) -> None:
        self.socket = socket.create_connection(address, 60)
        self.answer_count = 0
        self.longest_seconds = 0.0
        """How long an answer took that was waited for longest."""
        self._questions = questions
        self._exchange = Exchange("many")
        self._frames = FrameReader()
        self._send(next(questions))

    def receive(self) -> None:
        """Take what has come; once it is an answer, ask what comes next."""
        count = self.socket.recv_into(self._frames.wanted())
        assert count, f"the server hung up after {self.answer_count} answers"
        frame = self._frames.received(count)
        if frame is None:
            return
        self.longest_seconds = max(self.longest_seconds, time.monotonic() - self._asked)
        self.answer_count += 1
        self._send(self._questions.send(self._exchange.answer(frame)[1]))

    def _send(self, request: Any) -> None:
        self.socket.sendall(self._exchange.ask(request)[1])
        self._asked = time.monotonic()

    def close(self) -> None:
        self.socket.close()


class ManyClients:
    """Run for a while, and again."""

    def __init__(self, address: Address, all_questions: Iterable[Questions]) -> None:
        self.clients = [AskingClient(address, questions) for questions in all_questions]
        self._selector = selectors.DefaultSelector()
        for client in self.clients:
            self._selector.register(client.socket, selectors.EVENT_READ, client)

    def run(self, seconds: float) -> None:
        """Ask and check; whatever a generator raises ends it."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for key, _ in self._selector.select(_LOOK_SECONDS):
                key.data.receive()

    def close(self) -> None:
        self._selector.close()
        for client in self.clients:
            client.close()
