"""Partitions from which a broker deletes files, or which it deletes, while they are read."""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from logstore.errors import LogStoreError, NotALogDirectoryError
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from logstore.topic_partition import TopicPartition
from replication.base.errors import PartitionVanishedError
from replication.copies.planning.failures import PARTITION_ERRORS, OnError
from replication.copies.planning.replica import ensure_same_topic

RELISTINGS: Final = 5
"""How often a directory is listed again at most, whose files keep vanishing."""

T = TypeVar("T")


def reread(partition: PartitionDirectory, read: Callable[[PartitionDirectory], T]) -> T:
    """Read a partition; once more, from a new listing, where a listed file was deleted or renamed meanwhile.

    Raises what `read` raises, PartitionVanishedError where the directory is gone, and FileNotFoundError where files
    keep vanishing.
    """
    for _ in range(RELISTINGS):
        try:
            return read(partition)
        except (FileNotFoundError, NotALogDirectoryError):
            partition = list_again(partition)
    return read(partition)


def list_again(partition: PartitionDirectory) -> PartitionDirectory:
    """List a partition's directory anew. Raises PartitionVanishedError where it is gone, and OSError."""
    try:
        return partition.listed_again()
    except (LogStoreError, OSError) as error:
        if partition.path.exists():
            raise
        raise PartitionVanishedError(partition.path) from error


def judge_copies(
    partition: TopicPartition,
    copies: Mapping[str, PartitionDirectory],
    judge: Callable[[Mapping[str, RecoveredLog]], T],
    on_error: OnError,
    *,
    least: int = 2,
) -> T | None:
    """Load the copies of a partition, by replica name, and judge those that can be, if that is `least` at least.

    `on_error` is called with the reason if one cannot be loaded. Raises what `judge` raises, and TopicIdsDifferError.
    """
    relistings_left = RELISTINGS
    while True:
        logs = _load(partition, copies, on_error)
        if len(logs) < least:
            return None
        try:
            ensure_same_topic({name: log.partition for name, log in logs.items()})
            return judge(logs)
        except FileNotFoundError:  # of what `load` had no need to read
            if not relistings_left:
                raise
            relistings_left -= 1
            copies = {name: list_again(log.partition) for name, log in logs.items()}


def _load(
    partition: TopicPartition, copies: Mapping[str, PartitionDirectory], on_error: OnError
) -> dict[str, RecoveredLog]:
    logs = {}
    for name, copy in copies.items():
        try:
            logs[name] = reread(copy, RecoveredLog.load)
        except PARTITION_ERRORS as error:
            on_error(partition, error)
    return logs
