"""Partitions that another broker may lead by now."""

from threading import Condition
from typing import Final

from logstore import TopicPartition
from replication.wire.error_code import ErrorCode

DOUBTFUL_ERRORS: Final = frozenset(
    {
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""After these another broker may lead."""


class LeaderDoubts:
    """Collects partitions from fetchers, for whoever finds out who leads them. Any thread may call anything."""

    def __init__(self) -> None:
        """Begin without doubts."""
        self._partitions: set[TopicPartition] = set()
        self._woken = False
        self._changed = Condition()

    def add(self, partition: TopicPartition) -> None:
        """Doubt who leads a partition."""
        with self._changed:
            self._partitions.add(partition)
            self._changed.notify_all()

    def wake(self) -> None:
        """Wake waiters without doubts."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def take(self, timeout: float) -> frozenset[TopicPartition]:
        """Return the partitions in doubt, and doubt them no more; wait for some for `timeout` seconds at most."""
        with self._changed:
            self._changed.wait_for(lambda: self._partitions or self._woken, timeout)
            self._woken = False
            partitions = frozenset(self._partitions)
            self._partitions.clear()
            return partitions
