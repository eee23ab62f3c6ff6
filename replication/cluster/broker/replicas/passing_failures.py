"""Partitions that are offline for want of space, and are to be served once there is some."""

from collections.abc import Callable
from typing import Final

from epoch.base.resource_limits import is_passing
from logstore import Log, LogPoisonedError
from logstore.log.readable_log import ReadableLog
from replication.records.metadata.image_changes import PartitionId

_INTERVAL_MS: Final = 1_000


class PassingFailures:
    """Notes them, and says when it is time to try again."""

    def __init__(self, clock: Callable[[], int]) -> None:
        """Begin with none; `clock` gives milliseconds."""
        self._clock: Final = clock
        self._partitions: Final[set[PartitionId]] = set()
        self._due_ms = clock()

    def note(self, partition: PartitionId, error: Exception) -> None:
        """Note why a partition could not be served: only what may pass is tried again."""
        passes = isinstance(error, LogPoisonedError) or (isinstance(error, OSError) and is_passing(error))
        (self._partitions.add if passes else self._partitions.discard)(partition)

    def forget(self, partition: PartitionId) -> None:
        """Note that a partition is served, or is not here any more."""
        self._partitions.discard(partition)

    def is_due(self) -> bool:
        """Whether it is time to try again; once a second it is."""
        now = self._clock()
        if now < self._due_ms:
            return False
        self._due_ms = now + _INTERVAL_MS
        return True

    def take(self) -> list[PartitionId]:
        """Return what is to be tried again."""
        return sorted(self._partitions)


def is_torn(log: ReadableLog) -> bool:
    """Whether a call that a full disk has broken off has left a log that has to be recovered before it goes on."""
    return isinstance(log, Log) and isinstance(log.failure, LogPoisonedError)
