"""Leaderships that are to begin."""

from collections import deque
from collections.abc import Callable
from threading import Thread
from typing import Final, NamedTuple

from logstore import TopicPartition
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.broker.replicas.partition_errors import PARTITION_ERRORS
from replication.records.metadata.image_changes import PartitionId

_AT_ONCE: Final = 32
"""Threads that wait for the disk, with the one that asks for it."""


class Beginning(NamedTuple):
    """A pending leadership."""

    changed: PartitionId
    partition: TopicPartition
    hosted: HostedPartition
    begin: Callable[[], LedPartition]


class Beginnings:
    """Are made many at once: a disk makes the files of many partitions safe in the time that it takes for a few."""

    def __init__(self) -> None:
        """Create it without pending leaderships."""
        self._due: Final[list[Beginning]] = []

    def add(self, beginning: Beginning) -> None:
        """Add one for the next `begin`."""
        self._due.append(beginning)

    def begin(self) -> list[tuple[Beginning, LedPartition | Exception]]:
        """Begin all that were added; return them, in order, with who leads by now, or what has kept it from that."""
        added, begun = tuple(self._due), dict[int, LedPartition | Exception]()
        self._due.clear()
        due = deque(enumerate(added))
        threads = _started(min(len(due), _AT_ONCE) - 1, lambda: _work_off(due, begun))
        try:
            _work_off(due, begun)
        finally:
            for thread in threads:
                thread.join()
        for outcome in begun.values():
            if isinstance(outcome, Exception) and not isinstance(outcome, PARTITION_ERRORS):
                raise outcome
        return [(each, begun[place]) for place, each in enumerate(added)]


def _started(count: int, work: Callable[[], None]) -> list[Thread]:
    """Run this in so many threads, or as many as the process may have."""
    started = []
    for _ in range(count):
        thread = Thread(target=work, name="epochlog-begin-to-lead", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            break
        started.append(thread)
    return started


def _work_off(due: deque[tuple[int, Beginning]], begun: dict[int, LedPartition | Exception]) -> None:
    """Begin what nobody else has begun."""
    while due:
        try:
            place, beginning = due.popleft()
        except IndexError:  # another thread was faster
            return
        try:
            begun[place] = beginning.begin()
        except Exception as error:  # noqa: BLE001  whoever asked for it raises it
            begun[place] = error
