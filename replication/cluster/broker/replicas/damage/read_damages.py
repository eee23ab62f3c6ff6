"""Damage that somebody has come upon by reading, each reported once."""

from collections.abc import Callable
from threading import Lock
from typing import Final

from logstore import CorruptBatchError, LogStoreError, TopicPartition, TornBatchError
from replication.cluster.broker.events.partition_events import DamageRead

VERIFY_INTERVAL_MS: Final = 3_600_000
"""What is sent was checked, or appended, an hour ago at most."""
MOST_PLACES: Final = 100
"""That are remembered of a partition: further ones are reported again, each time that somebody reads there."""


class ReadDamages:
    """Reports each place once, however many read there; any thread may call."""

    def __init__(self, tell: Callable[[DamageRead], object]) -> None:
        """Know of none."""
        self._tell: Final = tell
        self._lock: Final = Lock()
        self._places: Final[dict[TopicPartition, set[tuple[str | None, int | None]]]] = {}

    def note(self, partition: TopicPartition, error: Exception) -> None:
        """Note the error of reading a copy."""
        if not isinstance(error, CorruptBatchError | TornBatchError):
            return
        with self._lock:
            places = self._places.setdefault(partition, set())
            if (error.file, error.position) in places:
                return
            if len(places) < MOST_PLACES:
                places.add((error.file, error.position))
        self._tell(_event(partition, error))

    def forget(self, partition: TopicPartition) -> None:
        """Know of none of a partition that is deleted."""
        with self._lock:
            self._places.pop(partition, None)


def _event(partition: TopicPartition, error: LogStoreError) -> DamageRead:
    return DamageRead(
        partition=partition, file=error.file, position=error.position, offset=error.offset, why=error.what
    )
