"""Hooks for whoever wants to know what a follower does: metrics, displays, keepers of what is truncated."""

from dataclasses import dataclass

from logstore import AppendInfo, Log, TopicPartition
from replication.fetcher.decisions.fetch_state import FetchState
from replication.protocol.error_code import ErrorCode


@dataclass(frozen=True, slots=True)
class Cut:
    """Records that a follower removes from its log, because the leader's log does not hold them."""

    partition: TopicPartition
    offset: int
    """Where the log ends afterwards, or starts afresh."""
    log_start_offset: int
    """These three: as they were before."""
    log_end_offset: int
    high_watermark: int
    leader_epoch: int
    """The epoch of the leader that is followed."""
    reason: str
    starts_afresh: bool = False
    """Everything goes: the leader's log starts beyond this one's end, or within the first batch fetched."""

    @property
    def first_offset(self) -> int:
        """The first offset that goes; with it goes the whole batch that holds it."""
        return self.log_start_offset if self.starts_afresh else max(self.offset, self.log_start_offset)

    @property
    def offset_count(self) -> int:
        """How many offsets go: as many records, unless some were compacted away."""
        return self.log_end_offset - self.first_offset

    @property
    def is_below_high_watermark(self) -> bool:
        """Whether records go that all in-sync replicas had: an unclean election, unless the leader deleted them."""
        return self.first_offset < self.high_watermark


class FetchObserver:
    """Override what is of interest. Called by the threads that follow, which wait: be quick, and raise nothing.

    Only `truncating` may raise: nothing is cut then, and the partition fails for that reason.
    """

    def truncating(self, log: Log, cut: Cut) -> None:
        """Hear what is about to be removed, while it can still be read and kept aside."""

    def truncated(self, log: Log, cut: Cut) -> None:
        """Hear what was removed."""

    def appended(self, partition: TopicPartition, info: AppendInfo, state: FetchState) -> None:
        """Hear what was fetched and written, and where the follower stands now."""

    def erred(self, partition: TopicPartition, error: ErrorCode) -> None:
        """Hear that the leader answered with an error; most often the follower asks again after a while."""

    def refused(self, partition: TopicPartition, error: Exception) -> None:
        """Hear that the leader's answer made no sense, and that nothing of it was stored."""

    def fenced(self, partition: TopicPartition, state: FetchState) -> None:
        """Hear that there is a newer leader than the one followed."""

    def failed(self, partition: TopicPartition, state: FetchState) -> None:
        """Hear that the partition is followed no more, for `state.reason`."""

    def leader_changed(self, partition: TopicPartition, broker_id: int, leader_epoch: int, log_end_offset: int) -> None:
        """Hear that another leader, or the same in another epoch, is followed, and where the log ended then."""

    def throttled(self, asked_ms: int, waited_ms: int) -> None:
        """Hear that a leader, over whose quota this client is, asks not to be asked for a time (KIP-219).

        `waited_ms` is for how long it is not: `LONGEST_SILENCE_MS` at most, whatever it asks.
        """

    def connected(self, address: str) -> None:
        """Hear that the leader at this address is connected to, for the first time or again."""

    def disconnected(self, address: str, reason: str) -> None:
        """Hear that the leader at this address cannot be reached, or hung up."""
