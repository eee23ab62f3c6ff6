"""What a follower's decisions need to know of its own log."""

from typing import NamedTuple

from epoch import UNDEFINED_EPOCH, EpochHistory


class FollowedLogState(NamedTuple):
    """A follower's log at one moment."""

    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    history: EpochHistory

    @property
    def latest_epoch(self) -> int:
        """The epoch that wrote last; UNDEFINED_EPOCH where none is known."""
        latest = self.history.latest_epoch
        return UNDEFINED_EPOCH if latest is None else latest

    @property
    def fetch_offset(self) -> int:
        """Where a follower begins: its end where epochs show what to truncate, else its high watermark.

        Kafka: ReplicaManager.initialFetchOffset.
        """
        return self.log_end_offset if self.history else self.high_watermark

    def truncate_to(self, offset: int) -> "FollowedLogState":
        """Return the state after the log was truncated to `offset`."""
        end = min(offset, self.log_end_offset)
        return FollowedLogState(
            min(self.log_start_offset, end), end, min(self.high_watermark, end), self.history.truncate_to(end)
        )
