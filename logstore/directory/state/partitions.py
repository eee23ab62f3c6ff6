"""What is in a root that is open: the logs, and the partitions that none was opened of."""

from dataclasses import dataclass, field

from logstore.errors import LogStoreError
from logstore.log.log import Log
from logstore.topic_partition import DirectoryMark, TopicPartition


@dataclass(slots=True)
class Partitions:
    """Changed with the directory's lock held; another dictionary takes the place of `logs` when all are let go."""

    logs: dict[TopicPartition, Log] = field(default_factory=dict)
    futures: dict[TopicPartition, Log] = field(default_factory=dict)
    """The copies of partitions of other roots, which are to take their place."""
    unreadable: dict[TopicPartition, LogStoreError] = field(default_factory=dict)
    """Those that could not be opened, and why."""
    set_aside: dict[str, DirectoryMark] = field(default_factory=dict)
    """The directories marked `-future` or `-stray` that are not open, by name."""
    may_be_torn: bool = False
    """Whether the root was not closed in order, and copies that were being moved have not been recovered."""

    @property
    def open_logs(self) -> dict[TopicPartition, Log]:
        """All logs that are open: a root that holds a partition holds no copy of it."""
        return {**self.futures, **self.logs}

    def let_go(self) -> None:
        """Hold none of them any more."""
        self.logs, self.futures = {}, {}
