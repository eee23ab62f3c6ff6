"""Leaderships that are to begin."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from logstore import TopicPartition
from replication.broker.partitions.hosted_partition import HostedPartition
from replication.broker.partitions.led_partition import LedPartition
from replication.broker.replicas.partition_errors import PARTITION_ERRORS
from replication.metadata.image_changes import PartitionId

_AT_ONCE: Final = 32
"""Threads that wait for the disk."""
_WORTH_THREADS: Final = 2


class Beginning(NamedTuple):
    """Of a leadership."""

    changed: PartitionId
    partition: TopicPartition
    hosted: HostedPartition
    begin: Callable[[], LedPartition]


class Beginnings:
    """Are made many at once: a disk makes the files of many partitions safe in the time that it takes for a few."""

    def __init__(self) -> None:
        """Have none yet."""
        self._due: Final[list[Beginning]] = []

    def add(self, beginning: Beginning) -> None:
        """Take one for the next `begin`."""
        self._due.append(beginning)

    def begin(self) -> list[tuple[Beginning, LedPartition | Exception]]:
        """Begin all that were added; return them with who leads by now, or what has kept it from that."""
        due = list(self._due)
        self._due.clear()
        if len(due) < _WORTH_THREADS:
            return [(each, _begun(each)) for each in due]
        with ThreadPoolExecutor(min(len(due), _AT_ONCE), "epochlog-begin-to-lead") as threads:
            return list(zip(due, threads.map(_begun, due), strict=True))


def _begun(beginning: Beginning) -> LedPartition | Exception:
    try:
        return beginning.begin()
    except PARTITION_ERRORS as error:
        return error
