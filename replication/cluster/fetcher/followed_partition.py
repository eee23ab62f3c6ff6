"""One partition of those that a fetcher follows."""

from typing import Final
from uuid import UUID

from replication.cluster.fetcher.decisions.fetch_state import FetchState
from replication.cluster.fetcher.followed_log import FollowedLog

LONGEST_MS: Final = 10_000
"""However often: once the leader's answers make sense again, the partition goes on within this time."""
_REMEMBERED_MS: Final = 2 * LONGEST_MS


class Setbacks:
    """Counts the answers of a leader that brought a partition no further; each wait is twice as long as the last.

    A setback after a long time without any is the first one again. What was appended meanwhile makes no difference:
    a leader may send records and take them back in turn.
    """

    __slots__ = ("_count", "_free", "_last_at")

    def __init__(self) -> None:
        """Begin without any."""
        self._count = 0
        self._free = 0
        self._last_at = 0

    def wait_ms(self, now: int, back_off_ms: int, *, free: int = 0) -> int:
        """Count one more at `now`, in milliseconds, and return how long to wait; 0 for the first `free` of them.

        The largest `free` of a series counts: each setback may take away some of what explains them.
        """
        if now - self._last_at > _REMEMBERED_MS:
            self._count = self._free = 0
        self._count += 1
        self._free = max(self._free, free)
        self._last_at = now
        doublings = self._count - self._free - 1
        return min(back_off_ms << min(doublings, 16), max(back_off_ms, LONGEST_MS)) if doublings >= 0 else 0


class FollowedPartition:
    """Its log, and where it stands; `state` is another one after every step."""

    __slots__ = ("log", "setbacks", "state", "topic_id")

    def __init__(self, log: FollowedLog, state: FetchState, topic_id: UUID | None) -> None:
        """Begin where `follow` says."""
        self.log = log
        self.state = state
        self.topic_id = topic_id
        self.setbacks: Setbacks | None = None
        """Of this leader epoch; most partitions never have any."""

    def wait_ms(self, now: int, back_off_ms: int, *, free: int = 0) -> int:
        """Count a setback, and return how long the partition waits after it (see `Setbacks.wait_ms`)."""
        if self.setbacks is None:
            self.setbacks = Setbacks()
        return self.setbacks.wait_ms(now, back_off_ms, free=free)
