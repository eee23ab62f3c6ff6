"""Which of a fetcher's partitions are to be looked at, and when."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from logstore import TopicPartition
from replication.cluster.fetcher.requests.throttle import Throttle


class DuePartitions:
    """Partitions that are due, that wait for a time, or that a throttle holds up.

    A round costs as much as there are partitions due, however many are followed. `add` and `forget` take any of them.
    """

    def __init__(self, throttle: Throttle | None) -> None:
        """Hold partitions up as the throttle says."""
        self.throttling = False
        """Whether lagging partitions are to be held up now."""
        self._throttle = throttle
        self._due: dict[TopicPartition, None] = {}
        self._delayed: list[tuple[int, TopicPartition]] = []
        self._held_up: dict[TopicPartition, None] = {}

    def add(self, partition: TopicPartition) -> None:
        """Look at a partition: its state has changed."""
        self._due[partition] = None

    def delay(self, partition: TopicPartition, until: int) -> None:
        """Look at a partition when this time has come."""
        heappush(self._delayed, (until, partition))

    def hold_up(self, partition: TopicPartition) -> None:
        """Look at a partition when the throttle lets it through again."""
        self._held_up[partition] = None

    def forget(self, partition: TopicPartition) -> None:
        """Look at a partition no more, unless it waits for a time: that is found out then."""
        self._due.pop(partition, None)
        self._held_up.pop(partition, None)

    def due(self, fetched: Iterable[TopicPartition], now: int) -> Iterator[TopicPartition]:
        """Give what is due, one after the other; `fetched` are those that a throttle may have to hold up."""
        while self._delayed and self._delayed[0][0] <= now:
            self.add(heappop(self._delayed)[1])
        if self._throttle is not None:
            self._apply(self._throttle, fetched, now)
        while self._due:
            yield self._due.popitem()[0]

    def wake_at(self, now: int) -> int | None:
        """Return when something will be due by itself."""
        if self._due:
            return now
        times = [time for time, _ in self._delayed[:1]]
        if self._held_up and self._throttle is not None:
            times.append(self._throttle.free_at(now))
        return min(times, default=None)

    def _apply(self, throttle: Throttle, fetched: Iterable[TopicPartition], now: int) -> None:
        was, self.throttling = self.throttling, throttle.is_exceeded(now)
        if self.throttling and not was:
            self._due |= dict.fromkeys(fetched)
        elif was and not self.throttling:
            self._due |= self._held_up
            self._held_up.clear()
