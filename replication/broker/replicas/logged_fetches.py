"""What a broker's log says of the partitions that it follows."""

import logging
from typing import Final

from logstore import TopicPartition
from replication.fetcher.decisions.fetch_state import FetchState
from replication.fetcher.fetch_observer import FetchObserver

_log: Final = logging.getLogger(__name__)


class LoggedFetches(FetchObserver):
    """Says which partitions are followed no more, and why: until their leader changes nobody else notices."""

    def failed(self, partition: TopicPartition, state: FetchState) -> None:
        """Name the partition."""
        _log.error("%s is followed no more, until its leader changes: %s", partition, state.reason)
