"""What keeps one partition from being judged, while the others go on."""

from collections.abc import Callable
from typing import NoReturn

from epoch import EpochError
from logstore.errors import LogStoreError
from logstore.topic_partition import TopicPartition
from replication.base.errors import ReplicationError

PARTITION_ERRORS = (EpochError, LogStoreError, ReplicationError, OSError)
"""What is wrong with one partition's files: unreadable, damaged, gone, or not to be compared."""

OnError = Callable[[TopicPartition, Exception], object]
"""Called with the reason that a partition could not be judged; what it raises is not caught, else the next follows."""


def stop(partition: TopicPartition, error: Exception) -> NoReturn:
    """Raise the error of the first partition that cannot be judged."""
    error.add_note(f"while looking at {partition}")
    raise error
