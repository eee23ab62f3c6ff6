"""An item that a work queue has given out."""

from collections.abc import Iterable
from typing import Protocol

from logstore.queue.queue_log import Token


class Settling(Protocol):
    """What an item needs of its queue."""

    def ack(self, items: "Iterable[QueueItem]") -> "list[QueueItem]":
        """Acknowledge items."""

    def release(self, item: "QueueItem", delay: float) -> bool:
        """Give an item back."""

    def extend(self, item: "QueueItem", seconds: float) -> bool:
        """Extend a lease."""


class QueueItem:
    """An item of a `WorkQueue`, leased to whoever has taken it, or dead.

    `id` is its own for as long as the queue exists: whoever remembers the ids of what is done notices an item that
    comes again.
    """

    __slots__ = ("_queue", "attempt", "id", "value")

    def __init__(self, queue: Settling, item: int, attempt: int, value: bytes) -> None:
        """Describe what a queue has given out."""
        self._queue = queue
        self.id: int = item
        """No other item of the queue has it, and the same item has it each time that it is given out."""
        self.attempt: int = attempt
        """How often the item was given out, with this time."""
        self.value: bytes = value

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id}, attempt={self.attempt}, {len(self.value):,} bytes)"

    @property
    def token(self) -> Token:
        """What the queue knows this attempt by."""
        return self.id, self.attempt

    def ack(self) -> bool:
        """Acknowledge the item, as done; return once that is on stable storage. See `WorkQueue.ack`.

        Returns False where the lease had run out and the item was given out once more: then it is not done yet.
        """
        return not self._queue.ack([self])

    def nack(self, delay: float = 0) -> bool:
        """Give the item back, to be given out again after `delay` seconds; after its last attempt it is dead.

        Returns False where the lease had run out and the item was given out once more.
        """
        return self._queue.release(self, delay)

    def extend(self, seconds: float) -> bool:
        """Extend the lease to so many seconds from now on; return False where the item was given out once more.

        Returns True for one that is done, as by `ack`.
        """
        return self._queue.extend(self, seconds)
