"""What a follower refuses, and why it stops to follow a partition."""

from pathlib import Path

from logstore import TopicPartition
from logstore.errors import LogStoreError
from replication.errors import ReplicationError


class RefusedRecordsError(ReplicationError, ValueError):
    """What a leader sent is damaged, or cannot follow what the log holds; nothing of it is stored.

    It is fetched again after a while, as Kafka does where a checksum fails: most often the next answer is sound.
    """

    def __init__(self, partition: TopicPartition, fault: str) -> None:
        """Say what is wrong with the leader's answer."""
        self.partition = partition
        self.fault = fault
        super().__init__(f"{partition}: the leader's answer is refused: {fault}")


class EarlyRecordsError(RefusedRecordsError):
    """A mirror was sent records that were not committed yet by what the same answer tells of the high watermark.

    Leaders do so now and then: they look at their high watermark first, and then read.
    """


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


def reason_of(error: Exception) -> str:
    """Return why a partition has failed, in words: with the file that could not be written, and what may be done."""
    message = str(error) or type(error).__name__
    if isinstance(error, OSError) and not isinstance(error, LogStoreError) and error.filename:
        message = f"{error.filename}: {error.strerror}"
    return "; ".join([message, *getattr(error, "__notes__", ())])
