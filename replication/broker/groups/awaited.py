"""An answer that is given later."""

from typing import Generic, TypeVar

from logstore.log.state.waiters import Waiters

T = TypeVar("T")


class Awaited(Generic[T]):
    """What a member waits for; set once, and those that wait are woken then."""

    __slots__ = ("value", "waiters")

    def __init__(self, value: T | None = None) -> None:
        """Be there at once where the value is known."""
        self.value: T | None = value
        self.waiters: Waiters = Waiters()

    def set(self, value: T) -> None:
        """Give the answer."""
        self.value = value
        self.waiters.wake()
