"""Which partitions of a fetch session may have something to tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logstore.log.state.waiters import Waiter
    from replication.broker.requests.fetch.watched_partition import WatchedPartition


class FetchNews:
    """Fed by whoever changes a log, read by fetches: so an idle session costs nothing, however many partitions it has.

    Each step is one of a dict's, which are whole: nobody who changes a log waits for a lock here.
    """

    __slots__ = ("_partitions", "waiter")

    def __init__(self) -> None:
        """Know of none."""
        self._partitions: dict[WatchedPartition, None] = {}
        self.waiter: Waiter | None = None
        """Woken by news, while a fetch waits for them."""

    def note(self, partition: WatchedPartition) -> None:
        """Let the next fetch look at a partition."""
        self._partitions[partition] = None
        if self.waiter is not None:
            self.waiter.wake()

    def keep(self, partition: WatchedPartition) -> None:
        """Let the next fetch look at a partition too, but wake nobody for that."""
        self._partitions[partition] = None

    def forget(self, partition: WatchedPartition) -> None:
        """Look no more at a partition, until it is noted again."""
        self._partitions.pop(partition, None)

    def in_turn(self) -> list[WatchedPartition]:
        """Return the partitions in the order in which they are to be read."""
        return sorted(self._partitions, key=lambda each: each.turn)
