"""What a broker's log says of the partitions that it follows."""

import logging
from typing import Final

from logstore import Log, TopicPartition
from replication.fetcher.decisions.fetch_state import FetchState
from replication.fetcher.fetch_observer import Cut, FetchObserver

_log: Final = logging.getLogger(__name__)


class LoggedFetches(FetchObserver):
    """Says what is cut off, and which partitions are followed no more, and why.

    Until their leader changes nobody else notices these.
    """

    def truncated(self, log: Log, cut: Cut) -> None:
        """Say from where to where, and under whom."""
        del log
        level = logging.WARNING if cut.is_below_high_watermark else logging.INFO
        ends = cut.log_end_offset, cut.offset, cut.leader_epoch
        _log.log(level, "%s: cut from offset %d back to %d under leader epoch %d: %s", cut.partition, *ends, cut.reason)

    def failed(self, partition: TopicPartition, state: FetchState) -> None:
        """Name the partition."""
        _log.error("%s is followed no more, until its leader changes: %s", partition, state.reason)
