"""A limit to what lagging followers fetch, so that catching up leaves bandwidth for others (KIP-73)."""

from collections import deque
from collections.abc import Container
from threading import Lock
from typing import Final

from logstore import TopicPartition
from replication.cluster.fetcher.decisions.fetch_state import FetchState

WINDOWS: Final = 11
"""Kafka: replication.quota.window.num."""
WINDOW_MS: Final = 1_000
"""Kafka: replication.quota.window.size.seconds, in milliseconds."""


class Throttle:
    """Bytes per second over a sliding window; thread-safe (Kafka: ReplicationQuotaManager).

    Only lagging partitions wait: one in sync would fall out of sync. As in Kafka, what was unused in the last windows
    may be used at once, and a response that was already requested may exceed the rate.
    """

    def __init__(
        self,
        bytes_per_second: int | None,
        partitions: Container[TopicPartition] | None = None,
        *,
        windows: int = WINDOWS,
    ) -> None:
        """Limit these partitions together, or all of them; `windows` of a second each, including the current one.

        A rate of None is no limit. Kafka: follower.replication.throttled.rate and .replicas. Raises ValueError below a
        rate of 1 or 2 windows.
        """
        if (bytes_per_second is not None and bytes_per_second <= 0) or windows < 2:
            raise ValueError(f"{bytes_per_second} bytes per second in {windows} windows: at least 1 and 2 are needed")
        self.bytes_per_second: int | None = bytes_per_second
        """It may be changed at any time; at 0 partitions wait whenever anything was fetched lately."""
        self._span_ms = windows * WINDOW_MS
        self._partitions = partitions
        self._windows: deque[tuple[int, int]] = deque()
        self._lock = Lock()

    def limits(self, partition: TopicPartition, state: FetchState) -> bool:
        """Whether the partition waits while the rate is exceeded."""
        return state.lag != 0 and self.covers(partition)

    def covers(self, partition: TopicPartition) -> bool:
        """Whether the partition is one of those that are limited together."""
        return self._partitions is None or partition in self._partitions

    def record(self, partition: TopicPartition, size: int, now: int) -> None:
        """Count bytes that were fetched, at `now` in milliseconds."""
        if not self.covers(partition):
            return
        with self._lock:
            self._forget(now)
            start = now - now % WINDOW_MS
            counted = self._windows.pop()[1] if self._windows and self._windows[-1][0] == start else 0
            self._windows.append((start, counted + size))

    def is_exceeded(self, now: int) -> bool:
        """Whether more was fetched in the last windows than the rate allows."""
        return self.free_at(now) > now

    def free_at(self, now: int) -> int:
        """Return when the rate will be kept again if nothing is fetched until then; `now` where it is kept."""
        with self._lock:
            self._forget(now)
            rate = self.bytes_per_second
            if rate is None:
                return now
            fetched = sum(size for _, size in self._windows)
            allowed = rate * (self._span_ms - WINDOW_MS) // 1_000
            free_at = now
            for start, size in self._windows:
                if fetched <= allowed:
                    break
                free_at = start + self._span_ms
                fetched -= size
            return free_at

    def _forget(self, now: int) -> None:
        """Leave out the windows that count no more."""
        while self._windows and self._windows[0][0] <= now - self._span_ms:
            self._windows.popleft()
