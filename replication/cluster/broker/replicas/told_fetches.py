"""What a broker reports and counts of the partitions that it follows."""

import logging
from collections.abc import Callable
from typing import Final

from logstore import AppendInfo, Log, TopicPartition
from replication.cluster.broker.events.event_log import log_event
from replication.cluster.broker.events.partition_events import NO_EPOCH, Truncated
from replication.cluster.broker.events.trouble import TellTrouble, Trouble
from replication.cluster.broker.events.trouble_events import TroubleKind
from replication.cluster.broker.partitions.broker_traffic import BrokerTraffic
from replication.cluster.fetcher.decisions.fetch_state import FetchState
from replication.cluster.fetcher.fetch_observer import Cut, FetchObserver
from replication.cluster.fetcher.removed_records import RemovedRecords

MOST_COUNTED_BYTES: Final = 4 << 20
"""What is read to count records: all that a following thread has, waits meanwhile."""
_log: Final = logging.getLogger(__name__)


class ToldFetches(FetchObserver):
    """Reports truncations, leaders that do not answer and partitions no longer followed, and counts what is copied."""

    def __init__(
        self,
        tell: Callable[[Truncated], object],
        traffic: BrokerTraffic,
        tell_trouble: TellTrouble = log_event,
    ) -> None:
        """Both are called by the following threads: they must return quickly, and raise nothing."""
        self._tell: Final = tell
        self._traffic: Final = traffic
        self._removed: Final[dict[TopicPartition, tuple[RemovedRecords | None, int]]] = {}
        """What is about to go, and the epoch of the log's last batch."""
        self._tell_trouble: Final = tell_trouble
        self._leaders: Final[dict[str, Trouble]] = {}

    def truncating(self, log: Log, cut: Cut) -> None:
        """Count what will go, unless that is much, or all of a log: nothing may keep a replica from its leader."""
        removed = None if cut.starts_afresh else _counted(log, cut)
        self._removed[cut.partition] = removed, _last_epoch(log)

    def truncated(self, log: Log, cut: Cut) -> None:
        """Report from where to where it was truncated, and under which leader."""
        removed, last_epoch = self._removed.pop(cut.partition)
        event = Truncated(
            partition=cut.partition,
            leader_epoch=cut.leader_epoch,
            last_epoch_before=last_epoch,
            last_epoch=_last_epoch(log),
            before=cut.log_end_offset,
            after=cut.offset,
            records=None if removed is None else removed.records,
            size=None if removed is None else removed.bytes,
            high_watermark=cut.high_watermark,
            is_below_high_watermark=cut.is_below_high_watermark,
            why=cut.reason,
        )
        self._tell(event)

    def appended(self, partition: TopicPartition, info: AppendInfo, state: FetchState) -> None:
        """Count what was copied."""
        del state
        self._traffic.of(partition).replication_bytes_in += info.size

    def disconnected(self, address: str, reason: str) -> None:
        """Report it, but not at each retry."""
        trouble = self._leaders.setdefault(address, Trouble(TroubleKind.LEADER, address, self._tell_trouble))
        trouble.begin(f"this broker cannot follow the leader: {reason}")

    def answered(self, address: str) -> None:
        """Report that the trouble is over."""
        self.left(address)

    def left(self, address: str) -> None:
        """Report that the trouble is over, as nothing is wanted there."""
        trouble = self._leaders.get(address)  # which other threads may be about to begin
        if trouble is not None:
            trouble.end()

    def failed(self, partition: TopicPartition, state: FetchState) -> None:
        """Name the partition: until its leader changes nobody else notices."""
        _log.error("%s is followed no more, until its leader changes: %s", partition, state.reason)


def _counted(log: Log, cut: Cut) -> RemovedRecords | None:
    """Count it, if it is not too much; what cannot be counted is removed all the same."""
    try:
        return RemovedRecords.within(log, cut.first_offset, MOST_COUNTED_BYTES)
    except Exception as error:  # noqa: BLE001  whatever it is, the replica has to follow its leader
        _log.warning("%s: what is cut off from offset %d is not counted: %s", cut.partition, cut.first_offset, error)
        return None


def _last_epoch(log: Log) -> int:
    latest = log.epochs.history.latest_epoch
    return NO_EPOCH if latest is None else latest
