"""One partition of those that a fetcher follows."""

from uuid import UUID

from replication.fetcher.fetch_state import FetchState
from replication.fetcher.followed_log import FollowedLog


class FollowedPartition:
    """Its log, and where it stands; `state` is another one after every step."""

    __slots__ = ("log", "state", "topic_id")

    def __init__(self, log: FollowedLog, state: FetchState, topic_id: UUID | None) -> None:
        """Begin where `follow` says."""
        self.log = log
        self.state = state
        self.topic_id = topic_id
