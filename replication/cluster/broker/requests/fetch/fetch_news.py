"""Which partitions of a fetch session may have news."""

from typing import Generic, Protocol, TypeVar

from logstore.log.state.waiters import Waiter


class _InTurn(Protocol):
    turn: int


T = TypeVar("T", bound=_InTurn)


class FetchNews(Generic[T]):
    """Fed by whoever changes a log, read by fetches: so an idle session costs nothing, however many partitions it has.

    Each step is one of a dict's, which are whole: nobody who changes a log waits for a lock here.
    """

    __slots__ = ("_partitions", "latest", "waiter")

    def __init__(self) -> None:
        """Know of none."""
        self._partitions: dict[T, None] = {}
        self.latest: object = None
        """Another one each time that any is noted, to see whether one was since."""
        self.waiter: Waiter | None = None
        """Woken by news, while a fetch waits for them."""

    def note(self, partition: T) -> None:
        """Make the next fetch look at a partition, and wake the one that waits."""
        self._partitions[partition] = None
        self.latest = object()
        waiter = self.waiter
        if waiter is not None:
            waiter.wake()

    def keep(self, partition: T) -> None:
        """Make the next fetch look at a partition too, without waking one that waits."""
        self._partitions[partition] = None

    def forget(self, partition: T) -> None:
        """Look no more at a partition, until it is noted again."""
        self._partitions.pop(partition, None)

    def in_turn(self) -> list[T]:
        """Return the partitions in the order in which they are to be read."""
        return sorted(self._partitions, key=lambda each: each.turn)
