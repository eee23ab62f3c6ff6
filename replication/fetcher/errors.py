"""What a follower refuses, and why it stops to follow a partition."""

from pathlib import Path

from logstore import TopicPartition
from replication.errors import ReplicationError


class RefusedRecordsError(ReplicationError, ValueError):
    """What a leader sent cannot follow what the log holds; nothing of it is stored, and the partition has failed."""

    def __init__(self, partition: TopicPartition, fault: str) -> None:
        """Say what is wrong with the leader's answer."""
        self.partition = partition
        self.fault = fault
        super().__init__(f"{partition}: the leader's answer is refused: {fault}")


class DamagedRecordsError(RefusedRecordsError):
    """What a leader sent is damaged, or not whole; nothing of it is stored, and it is fetched again (Kafka too)."""


class OtherPartitionError(ReplicationError, ValueError):
    """A log was given for another partition than that of its directory."""

    def __init__(self, partition: TopicPartition, log: Path) -> None:
        """Name the partition that was to be followed, and the log's directory."""
        self.partition = partition
        super().__init__(
            f"{log}: not a log of {partition}, by its name; give the directory {log.parent / str(partition)}"
        )


class UnknownTopicError(ReplicationError, LookupError):
    """The cluster has no such topic or partition."""

    def __init__(self, partition: TopicPartition, bootstrap: str) -> None:
        """Name the brokers that were asked."""
        self.partition = partition
        super().__init__(
            f"{partition}: the cluster at {bootstrap} has no such partition; see the topic's name and its number of "
            "partitions, and whether this user may describe it"
        )


class FollowingFailedError(ReplicationError, RuntimeError):
    """A partition is followed no more; its `reason` stands in the fetch state."""

    def __init__(self, partition: TopicPartition, reason: str) -> None:
        """Say why."""
        self.partition = partition
        self.reason = reason
        super().__init__(f"{partition} is followed no more: {reason}")


class NotCaughtUpError(ReplicationError, TimeoutError):
    """A follower did not reach its leader's high watermark in the time given."""

    def __init__(self, partition: TopicPartition, seconds: float, standing: str) -> None:
        """Say how far it came."""
        self.partition = partition
        super().__init__(f"{partition} has not caught up within {seconds:g} s: {standing}")
