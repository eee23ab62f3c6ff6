"""A follower's fetch state of one partition."""

from dataclasses import dataclass, replace
from enum import StrEnum

from epoch import UNDEFINED_EPOCH


class Phase(StrEnum):
    """What a follower is doing with a partition (Kafka: ReplicaState)."""

    TRUNCATING = "truncating"
    """It finds out where its log diverges from the leader's."""
    LOCATING = "locating"
    """Asking for the start and end of the leader's log, after OFFSET_OUT_OF_RANGE."""
    FETCHING = "fetching"
    """Fetching."""
    FENCED = "fenced"
    """The followed broker says that a newer leader was elected: it waits to learn which, and retries now and then."""
    FAILED = "failed"
    """It has failed, for the reason in `reason`; following the partition again starts over."""


@dataclass(frozen=True, slots=True)
class FetchState:
    """A follower's position in one partition (Kafka: PartitionFetchState). A value: every step makes a new one."""

    leader_epoch: int
    """The epoch of the followed leader; every request has it, so that a leader of another epoch refuses the request."""
    fetch_offset: int
    last_fetched_epoch: int = UNDEFINED_EPOCH
    """The epoch of the last batch below `fetch_offset`; UNDEFINED_EPOCH if the leader should not check it."""
    phase: Phase = Phase.FETCHING
    lag: int | None = None
    """Offsets up to the leader's high watermark; None until the first response, and again after an error."""
    ready_at: int = 0
    """No request is sent before this time, in milliseconds of the follower's clock."""
    reason: str = ""
    """Why it waits, or has failed."""
    began_at: int = -1
    """The leader's log start offset at which the follower's log was started anew; -1 if it was not."""

    @property
    def is_active(self) -> bool:
        """Whether the leader is followed, as far as known."""
        return self.phase not in {Phase.FENCED, Phase.FAILED}

    def is_ready(self, now: int) -> bool:
        """Whether a request is due now."""
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
