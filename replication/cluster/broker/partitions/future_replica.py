"""What is reported of a copy that is to take the place of a log in another directory."""

from typing import NamedTuple

from logstore import TopicPartition


class FutureReplica(NamedTuple):
    """A copy of a partition's log that is being made (Kafka: future log)."""

    partition: TopicPartition
    root: str
    """The entry of log.dirs that it is in."""
    size: int
    """Bytes."""
    offset_lag: int
    """How far it is behind the log's end."""
