"""The end of a connection, by our side."""

from typing import Any

from replication.records.codec.gathered import Part


class HangUpError(Exception):
    """What was received has no answer, or only a last one: then the connection is closed, as Kafka does.

    `topic` is what it is about, in one word: a server reports each once for an address.
    """

    def __init__(self, topic: str, reason: str, *, answer: Any = None, delay_seconds: float = 0.0) -> None:
        """Create it with the last answer, in the terms of the request, and the delay before that."""
        super().__init__(reason)
        self.topic = topic
        self.answer = answer
        self.delay_seconds = delay_seconds
        self.parts: list[Part] = []
        """The frame of that answer."""
