"""Hooks into a follower: for metrics, displays, and to save records before they are truncated."""

from dataclasses import dataclass

from logstore import AppendInfo, Log, TopicPartition
from replication.cluster.fetcher.decisions.fetch_state import FetchState
from replication.wire.error_code import ErrorCode


@dataclass(frozen=True, slots=True)
class Cut:
    """Records that a follower removes from its log because the leader's log does not have them."""

    partition: TopicPartition
    offset: int
    """Where the log ends afterwards, or starts afresh."""
    log_start_offset: int
    """This and the next two are the log's values before the cut."""
    log_end_offset: int
    high_watermark: int
    leader_epoch: int
    """The epoch of the leader that is followed."""
    reason: str
    starts_afresh: bool = False
    """Everything is removed: the leader's log starts beyond this one's end, or within the first batch fetched."""

    @property
    def first_offset(self) -> int:
        """The first offset that is removed, with the whole batch that holds it."""
        return self.log_start_offset if self.starts_afresh else max(self.offset, self.log_start_offset)

    @property
    def offset_count(self) -> int:
        """The number of offsets removed: as many records, unless some were compacted away."""
        return self.log_end_offset - self.first_offset

    @property
    def is_below_high_watermark(self) -> bool:
        """Whether all in-sync replicas had some of them: the election was unclean, or the leader deleted records."""
        return self.first_offset < self.high_watermark


class FetchObserver:
    """Override the methods of interest. The following threads call them and wait: return quickly, raise nothing.

    Only `truncating` may raise: then nothing is removed, and the partition fails with that reason, unless it is a
    replica and the reason a full disk.
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def truncating(self, log: Log, cut: Cut) -> None:
        """Observe a cut before it is made: the records can still be read and saved."""

    def truncated(self, log: Log, cut: Cut) -> None:
        """Observe a cut that was made."""

    def appended(self, partition: TopicPartition, info: AppendInfo, state: FetchState) -> None:
        """Observe an append of fetched batches; `state` is the new state."""

    def erred(self, partition: TopicPartition, error: ErrorCode) -> None:
        """Observe an error that the leader answered; most errors are retried."""

    def refused(self, partition: TopicPartition, error: Exception) -> None:
        """Observe an invalid answer of the leader, of which nothing was stored."""

    def fenced(self, partition: TopicPartition, state: FetchState) -> None:
        """Observe that the leader is no longer the leader: its epoch is fenced."""

    def failed(self, partition: TopicPartition, state: FetchState) -> None:
        """Observe that the partition is no longer followed; `state.reason` says why."""

    def leader_changed(self, partition: TopicPartition, broker_id: int, leader_epoch: int, log_end_offset: int) -> None:
        """Observe a new leader, or the same one in a new epoch; `log_end_offset` is the log's end at that time."""

    def throttled(self, asked_ms: int, waited_ms: int) -> None:
        """Observe that the leader throttles this client for exceeding its quota (KIP-219).

        `waited_ms` is how long the follower waits: at most `LONGEST_SILENCE_MS`, whatever the leader asks.
        """

    def connected(self, address: str) -> None:
        """Observe a new connection to the leader at this address."""

    def answered(self, address: str) -> None:
        """Observe the first answer on a connection: the leader at this address does what it is asked."""

    def left(self, address: str) -> None:
        """Observe that a thread follows nothing any more of the leader at this address."""

    def disconnected(self, address: str, reason: str) -> None:
        """Observe a lost or refused connection to the leader at this address."""
