"""Partitions that somebody else may lead by now."""

from threading import Condition
from typing import Final

from kio.schema.errors import ErrorCode

from logstore import TopicPartition

DOUBTFUL_ERRORS: Final = frozenset(
    {
        ErrorCode.broker_not_available,
        ErrorCode.fenced_leader_epoch,
        ErrorCode.inconsistent_topic_id,
        ErrorCode.kafka_storage_error,
        ErrorCode.leader_not_available,
        ErrorCode.not_leader_or_follower,
        ErrorCode.replica_not_available,
        ErrorCode.unknown_leader_epoch,
        ErrorCode.unknown_topic_id,
        ErrorCode.unknown_topic_or_partition,
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
        """Let who waits go on without doubts."""
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
