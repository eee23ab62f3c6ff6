"""What a follower refuses, and why it stops following a partition."""

from pathlib import Path

from logstore import TopicPartition
from logstore.errors import LogStoreError
from replication.base.errors import ReplicationError


class RefusedRecordsError(ReplicationError, ValueError):
    """A leader's batches are damaged, or do not continue the log; nothing of them is stored.

    They are fetched again after a while, as Kafka does if a checksum fails: most often the next response is sound.
    """

    def __init__(self, partition: TopicPartition, fault: str) -> None:
        """`fault` says what is wrong with the leader's response."""
        self.partition = partition
        self.fault = fault
        super().__init__(f"{partition}: the leader's response is refused: {fault}")


class EarlyRecordsError(RefusedRecordsError):
    """A mirror was sent records at or above the high watermark in the same response.

    Leaders do that at times: they read their high watermark first, and the records later.
    """


class OtherPartitionError(ReplicationError, ValueError):
    """A log's directory is named for a different partition."""

    def __init__(self, partition: TopicPartition, log: Path) -> None:
        """Create it with the partition to follow and the log's directory."""
        self.partition = partition
        super().__init__(
            f"{log}: its name says that it is not a log of {partition}; use the directory {log.parent / str(partition)}"
        )


class PartitionNotFoundError(ReplicationError, LookupError):
    """The cluster has no such topic or partition (Kafka: UnknownTopicOrPartitionException)."""

    def __init__(self, partition: TopicPartition, bootstrap: str) -> None:
        """Name the brokers that were asked."""
        self.partition = partition
        super().__init__(
            f"{partition}: the cluster at {bootstrap} has no such partition; check the topic's name and its number of "
            "partitions, and whether this user may describe it"
        )


class FollowingFailedError(ReplicationError, RuntimeError):
    """A partition has failed and is no longer followed; `reason` is that of its fetch state."""

    def __init__(self, partition: TopicPartition, reason: str) -> None:
        """Create it with the reason."""
        self.partition = partition
        self.reason = reason
        super().__init__(f"{partition} is no longer followed: {reason}")


class NotCaughtUpError(ReplicationError, TimeoutError):
    """A follower did not reach its leader's high watermark within the timeout."""

    def __init__(self, partition: TopicPartition, seconds: float, standing: str) -> None:
        """`standing` says how far it got."""
        self.partition = partition
        super().__init__(f"{partition} has not caught up within {seconds:g} s: {standing}")


def reason_of(error: Exception) -> str:
    """Return why a partition has failed, in words: with the file that could not be written, and what may be done."""
    message = str(error) or type(error).__name__
    if isinstance(error, OSError) and not isinstance(error, LogStoreError) and error.filename:
        message = f"{error.filename}: {error.strerror}"
    return "; ".join([message, *getattr(error, "__notes__", ())])


class FetchersClosedError(ReplicationError, ValueError):
    """Nothing is followed any more: those who follow were closed."""

    def __init__(self, partition: TopicPartition) -> None:
        super().__init__(f"{partition} cannot be followed: the fetchers are closed")
