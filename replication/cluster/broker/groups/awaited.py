"""An answer that is given later."""

from typing import Generic, TypeVar

from logstore.log.state.waiters import Waiters

T = TypeVar("T")


class Awaited(Generic[T]):
    """What a member waits for; set once, and those that wait are woken then."""

    __slots__ = ("place", "value", "waiters")

    def __init__(self, value: T | None = None) -> None:
        """Create an answer; it is there at once if `value` is given."""
        self.value: T | None = value
        self.waiters: Waiters = Waiters()
        self.place: int = 0
        """How many others of the group waited for the same before."""

    def set(self, value: T) -> None:
        """Give the answer."""
        self.value = value
        self.waiters.wake()
