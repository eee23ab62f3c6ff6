"""A partition that one broker has in several of its log.dirs: Kafka's broker does not start with them."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from epoch import UNDEFINED_EPOCH
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from logstore.topic_partition import TopicPartition
from replication.copies.planning.failures import PARTITION_ERRORS

PARTITION_DOUBLED: Final = "partition-in-two-log-dirs"
"""The kind of the finding."""


class DoubledCopy(NamedTuple):
    """One of the directories."""

    place: str
    """Where it is, for people."""
    last_epoch: int | None
    """The latest leader epoch that its log knows, -1 without any; None where it could not be read."""
    log_end_offset: int

    @classmethod
    def read(cls, directory: PartitionDirectory) -> "DoubledCopy":
        """Look how far a copy goes."""
        try:
            log = RecoveredLog.load(directory)
            latest = log.lineage().latest
        except PARTITION_ERRORS:
            return cls(str(directory.path), None, 0)
        return cls(str(directory.path), latest.epoch if latest else UNDEFINED_EPOCH, log.log_end_offset)

    @classmethod
    def at(cls, path: Path) -> "DoubledCopy":
        """Look how far a copy in a partition's directory goes."""
        try:
            directory = PartitionDirectory.open(path)
        except PARTITION_ERRORS:
            return cls(str(path), None, 0)
        return cls.read(directory)

    def __str__(self) -> str:
        if self.last_epoch is None:
            return f"{self.place} (not read)"
        return f"{self.place} (leader epoch {self.last_epoch}, end offset {self.log_end_offset:,})"


def ahead(copies: Iterable[DoubledCopy]) -> DoubledCopy | None:
    """Return the copy with the latest epoch, of several the longest, the first of equals; None where one is unread."""
    known = sorted(copies, key=lambda copy: (-(copy.last_epoch or 0), -copy.log_end_offset))
    return None if any(copy.last_epoch is None for copy in known) else known[0]


def doubled_in_words(partition: TopicPartition, broker: str, copies: Sequence[DoubledCopy]) -> str:
    """Return where the copies are, which of them is ahead, and what to do."""
    first = ahead(copies)
    where = " and ".join(map(str, copies))
    what = f"{broker} has {partition} in {len(copies)} of its log.dirs, {where}: Kafka's broker does not start so"
    if first is None:
        return f"{what}; which is ahead is not known: make sure that all can be read, and leave one in the log.dirs"
    others = ", ".join(copy.place for copy in copies if copy is not first)
    is_ahead = any(copy[1:] != first[1:] for copy in copies)
    standing = f"{first.place} is ahead" if is_ahead else "they go equally far"
    return f"{what}; {standing}: with the broker stopped, move {others} out of the log.dirs, and keep it for a while"
