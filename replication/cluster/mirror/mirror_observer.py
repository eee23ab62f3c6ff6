"""Counts and reports what a mirror's fetchers do, and keeps what is truncated."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from logstore import AppendInfo, Log, TopicPartition
from replication.cluster.fetcher.decisions.fetch_state import FetchState
from replication.cluster.fetcher.fetch_observer import Cut, FetchObserver
from replication.cluster.fetcher.removed_records import RemovedRecords
from replication.cluster.mirror.events import Disconnected, Event, Failed, LeaderChanged, Refused, Truncated
from replication.cluster.mirror.status import Tally
from replication.cluster.mirror.truncated_records import TruncatedRecords
from replication.wire.error_code import ErrorCode

_REFUSED: Final = "refused answer"


class MirrorObserver(FetchObserver):
    """Observes all partitions; calls for one partition come from one thread at a time."""

    def __init__(self, tell: Callable[[Event], object], keeper: TruncatedRecords | None = None) -> None:
        """`tell` is called from the fetcher threads; `keeper` gets the records of a truncation before it happens."""
        self._tell = tell
        self._keeper = keeper
        self._tallies: dict[TopicPartition, Tally] = {}
        self.failures = 0
        """How many times a partition has failed."""
        self._troubles: dict[str, str] = {}
        """Why leaders could not be reached, as reported; cleared once a leader sends data again."""
        self._reached: set[str] = set()
        """Leaders that were connected to and have not sent anything yet."""
        self._removed: dict[TopicPartition, tuple[RemovedRecords, Path | None]] = {}

    def tally(self, partition: TopicPartition) -> Tally:
        """Return the counts of a partition. Thread-safe."""
        return self._tallies.get(partition) or self._tallies.setdefault(partition, Tally())

    def truncating(self, log: Log, cut: Cut) -> None:
        """Count what will be removed and keep it, if configured. Raises OSError: then nothing is removed."""
        removed = RemovedRecords.of(log, cut.first_offset)
        kept = None if self._keeper is None else self._keeper.keep(log, cut, removed)
        self._removed[cut.partition] = removed, kept

    def truncated(self, log: Log, cut: Cut) -> None:
        """Count and report the truncation."""
        del log
        removed, kept = self._removed.pop(cut.partition)
        self.tally(cut.partition).add_cut(removed, is_below_high_watermark=cut.is_below_high_watermark)
        self._tell(Truncated(cut, removed, kept))

    def appended(self, partition: TopicPartition, info: AppendInfo, state: FetchState) -> None:
        """Count what was copied."""
        del state
        if self._reached:
            self._forget_troubles()
        tally = self.tally(partition)
        tally.bytes += info.size
        tally.appends += 1

    def erred(self, partition: TopicPartition, error: ErrorCode) -> None:
        """Count the error."""
        self.tally(partition).errors[error.name] += 1

    def refused(self, partition: TopicPartition, error: Exception) -> None:
        """Count and report it."""
        self.tally(partition).errors[_REFUSED] += 1
        self._tell(Refused(partition, str(error)))

    def failed(self, partition: TopicPartition, state: FetchState) -> None:
        """Count and report it."""
        self.failures += 1
        self._tell(Failed(partition, state.reason))

    def leader_changed(self, partition: TopicPartition, broker_id: int, leader_epoch: int, log_end_offset: int) -> None:
        """Report the new leader."""
        self._tell(LeaderChanged(partition, broker_id, leader_epoch, log_end_offset))

    def connected(self, address: str) -> None:
        """Remember it."""
        self._reached.add(address)

    def disconnected(self, address: str, reason: str) -> None:
        """Report the error once, not at each retry."""
        self._reached.discard(address)
        if self._troubles.get(address) != reason:
            self._troubles[address] = reason
            self._tell(Disconnected(address, reason))

    def _forget_troubles(self) -> None:
        # Other threads connect meanwhile.
        for address in tuple(self._reached):
            self._troubles.pop(address, None)
            self._reached.discard(address)
