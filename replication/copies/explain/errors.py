"""Why nothing is explained."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from logstore.topic_partition import TopicPartition
from replication.base.errors import ReplicationError


class ExplainError(ReplicationError):
    """The base class of what keeps offsets from being explained."""


class NoSuchPartitionError(ExplainError, LookupError):
    """No copy holds the partition, or none that could be read."""

    def __init__(self, partition: TopicPartition, copies: Sequence[str], known: Iterable[TopicPartition]) -> None:
        names = sorted(map(str, known))
        shown = (
            f"they hold {', '.join(names[:10])}{' and others' if len(names) > 10 else ''}" if names else "name others"
        )
        super().__init__(f"{partition} can be read in none of these copies: {', '.join(copies)}; {shown}")


class UnknownLeaderError(ExplainError, LookupError):
    """The copy that is to be explained does not hold the partition."""

    def __init__(self, leader: str, partition: TopicPartition, holders: Iterable[str]) -> None:
        super().__init__(f"{leader} has no copy of {partition}; choose one of these: {', '.join(holders)}")


class OffsetsFileError(ExplainError, ValueError):
    """A file or table of offsets cannot be understood."""

    def __init__(self, path: Path | str, problem: str) -> None:
        """`path` is a table's name where it is none of a file."""
        super().__init__(f"{path}: {problem}")
        self.path: Path | str = path
