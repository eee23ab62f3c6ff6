"""One partition of those that a fetcher follows."""

from uuid import UUID

from replication.fetcher.decisions.fetch_state import FetchState
from replication.fetcher.followed_log import FollowedLog
from replication.fetcher.setbacks import Setbacks


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
