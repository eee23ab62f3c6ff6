"""Where a follower stands with one partition."""

from dataclasses import dataclass, replace
from enum import StrEnum

from epoch import UNDEFINED_EPOCH


class Phase(StrEnum):
    """What a follower does about a partition (Kafka: ReplicaState)."""

    TRUNCATING = "truncating"
    """It finds out where its log stops agreeing with the leader's."""
    LOCATING = "locating"
    """It asks where the leader's log starts and ends, after OFFSET_OUT_OF_RANGE."""
    FETCHING = "fetching"
    """It fetches."""
    FENCED = "fenced"
    """A newer leader was elected, by what the one followed says: it waits to be told which, and asks now and then."""
    FAILED = "failed"
    """It has given up, for the reason that stands in `reason`; following the partition anew begins again."""


@dataclass(frozen=True, slots=True)
class FetchState:
    """A follower's position in one partition (Kafka: PartitionFetchState). A value: every step makes a new one."""

    leader_epoch: int
    """The epoch of the leader that is followed; it goes into every request, so that another leader refuses it."""
    fetch_offset: int
    last_fetched_epoch: int = UNDEFINED_EPOCH
    """The epoch of the last batch below `fetch_offset`; UNDEFINED_EPOCH where a leader is not to look at it."""
    phase: Phase = Phase.FETCHING
    lag: int | None = None
    """Offsets up to the leader's high watermark; None until the first answer, and again after an error."""
    ready_at: int = 0
    """Nothing is asked before this time, in milliseconds of the follower's clock."""
    reason: str = ""
    """Why it waits, or has failed."""
    began_at: int = -1
    """Where this leader said that its log starts, and the follower's log began anew; -1 where it did not."""

    @property
    def is_active(self) -> bool:
        """Whether the leader is followed, as far as is known."""
        return self.phase not in {Phase.FENCED, Phase.FAILED}

    def is_ready(self, now: int) -> bool:
        """Whether something is to be asked now."""
        return self.ready_at <= now and self.phase is not Phase.FAILED

    def delayed(self, until: int, reason: str) -> "FetchState":
        """Return the state of a partition that waits, unless it waits longer already."""
        return self if self.ready_at >= until else replace(self, ready_at=until, reason=reason, lag=None)

    def fenced(self, until: int, reason: str) -> "FetchState":
        """Return the state of a partition that another leader leads by now."""
        return replace(self, phase=Phase.FENCED, ready_at=until, reason=reason, lag=None)

    def failed(self, reason: str) -> "FetchState":
        """Return the state of a partition that is given up (Kafka: markPartitionFailed)."""
        return replace(self, phase=Phase.FAILED, reason=reason)
