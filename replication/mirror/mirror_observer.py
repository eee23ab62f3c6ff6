"""What a mirror does about what its fetchers do: counts it, tells of it, keeps what is truncated."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from logstore import AppendInfo, Log, TopicPartition
from replication.fetcher.decisions.fetch_state import FetchState
from replication.fetcher.fetch_observer import Cut, FetchObserver
from replication.mirror.events import Disconnected, Event, Failed, LeaderChanged, Refused, Truncated
from replication.mirror.removed_records import RemovedRecords
from replication.mirror.status import Tally
from replication.mirror.truncated_records import TruncatedRecords
from replication.protocol.error_code import ErrorCode

_REFUSED: Final = "refused answer"


class MirrorObserver(FetchObserver):
    """Hears of all partitions, of each in one thread at a time."""

    def __init__(self, tell: Callable[[Event], object], keeper: TruncatedRecords | None = None) -> None:
        """`tell` is called from the threads that follow; `keeper` gets what is truncated, before it is."""
        self._tell = tell
        self._keeper = keeper
        self._tallies: dict[TopicPartition, Tally] = {}
        self.failures = 0
        """How often a partition was given up."""
        self._troubles: dict[str, str] = {}
        """Why leaders could not be reached, as told; forgotten once they are, and something comes again."""
        self._reached: set[str] = set()
        """Leaders that were connected to, of which it is not known yet whether anything comes."""
        self._removed: dict[TopicPartition, tuple[RemovedRecords, Path | None]] = {}

    def tally(self, partition: TopicPartition) -> Tally:
        """Return what has been done for a partition. Any thread may ask."""
        return self._tallies.get(partition) or self._tallies.setdefault(partition, Tally())

    def truncating(self, log: Log, cut: Cut) -> None:
        """Count what goes and keep it, if that is asked for. Raises OSError: then nothing goes."""
        removed = RemovedRecords.of(log, cut.first_offset)
        kept = None if self._keeper is None else self._keeper.keep(log, cut, removed)
        self._removed[cut.partition] = removed, kept

    def truncated(self, log: Log, cut: Cut) -> None:
        """Count the truncation and tell of it."""
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
        """Count and tell."""
        self.tally(partition).errors[_REFUSED] += 1
        self._tell(Refused(partition, str(error)))

    def failed(self, partition: TopicPartition, state: FetchState) -> None:
        """Count and tell."""
        self.failures += 1
        self._tell(Failed(partition, state.reason))

    def leader_changed(self, partition: TopicPartition, broker_id: int, leader_epoch: int, log_end_offset: int) -> None:
        """Tell."""
        self._tell(LeaderChanged(partition, broker_id, leader_epoch, log_end_offset))

    def connected(self, address: str) -> None:
        """Remember it."""
        self._reached.add(address)

    def disconnected(self, address: str, reason: str) -> None:
        """Tell, but not again at each try."""
        self._reached.discard(address)
        if self._troubles.get(address) != reason:
            self._troubles[address] = reason
            self._tell(Disconnected(address, reason))

    def _forget_troubles(self) -> None:
        # Other threads connect meanwhile.
        for address in tuple(self._reached):
            self._troubles.pop(address, None)
            self._reached.discard(address)
