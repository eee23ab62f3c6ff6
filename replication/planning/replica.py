"""The partitions that one broker's copy of the logs holds."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from logstore.log_root import LogRoot, open_log_directory
from logstore.partition_directory import PartitionDirectory
from logstore.topic_partition import TopicPartition
from replication.errors import NothingInCommonError


@dataclass(frozen=True, slots=True)
class Replica:
    """A broker's partitions, under the name of the directory that holds them."""

    name: str
    partitions: dict[TopicPartition, PartitionDirectory]


def open_replicas(paths: Sequence[Path]) -> list[Replica]:
    """Open log.dirs roots, or single partition directories, as replicas of one cluster.

    A replica is called like its root directory; where two roots share a name, by as much of their paths as tells
    them apart. NothingInCommonError where no two of them hold the same partition.
    """
    opened = [open_log_directory(path) for path in paths]
    names = _distinct_names([each.path if isinstance(each, LogRoot) else each.path.parent for each in opened])
    replicas = [Replica(name, _partitions(each)) for name, each in zip(names, opened, strict=True)]
    if not in_common(replicas):
        raise NothingInCommonError([str(path) for path in paths])
    return replicas


def in_common(replicas: Sequence[Replica]) -> list[TopicPartition]:
    """Return the partitions that at least two of the replicas hold, in order."""
    held = Counter(partition for replica in replicas for partition in replica.partitions)
    return sorted(partition for partition, copies in held.items() if copies > 1)


def holding(replicas: Iterable[Replica], partition: TopicPartition) -> dict[str, PartitionDirectory]:
    """Return the copies of one partition by replica name."""
    return {replica.name: replica.partitions[partition] for replica in replicas if partition in replica.partitions}


def _partitions(opened: LogRoot | PartitionDirectory) -> dict[TopicPartition, PartitionDirectory]:
    directories = opened.partitions() if isinstance(opened, LogRoot) else [opened]
    return {directory.topic_partition: directory for directory in directories}


def _distinct_names(paths: Sequence[Path]) -> list[str]:
    """Name each path by its last part, or by as many last parts as tell all of them apart."""
    deepest = max(len(path.parts) for path in paths)
    names = [path.name for path in paths]
    for parts in range(2, deepest + 1):
        if len(set(names)) == len(names):
            break
        names = ["/".join(path.parts[-parts:]) for path in paths]
    return names
