"""One broker of a cluster that nobody writes: its copies of partitions, open to be read."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Self
from uuid import UUID, uuid5

from logstore.files.partition_metadata import PartitionMetadata
from logstore.log.frozen_log import CheckedLog
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from logstore.segment.open_files import OpenFiles
from logstore.topic_partition import TopicPartition
from replication.copies.planning.failures import PARTITION_ERRORS, OnError
from replication.copies.planning.replica import Replica
from replication.copies.planning.rereading import reread

_NAME_SPACE: Final = UUID("6f3c2a52-6d53-4b0e-9d0f-6a3f0d6c1d2b")


def made_id(name: str) -> UUID:
    """Return the id that stands for a name."""
    return uuid5(_NAME_SPACE, name)


class FrozenCopy(NamedTuple):
    """A copy of a partition, and of which topic it is."""

    log: CheckedLog
    topic_id: UUID
    """By its `partition.metadata`; made of the topic's name where there is none."""

    @classmethod
    def open(cls, directory: PartitionDirectory, open_files: OpenFiles) -> Self:
        """Open a copy without a write. Raises what `CheckedLog.open` and `PartitionMetadata.of` do."""
        metadata = PartitionMetadata.of(directory.path)
        recovered = reread(directory, RecoveredLog.load)
        # A broker that was killed may have lost its epochs (KAFKA-15046): clients would be told that offsets are gone.
        log = CheckedLog.of(replace(recovered, history=recovered.lineage()), open_files=open_files)
        return cls(log, made_id(directory.topic_partition.topic) if metadata is None else metadata.topic_id)


@dataclass(frozen=True, slots=True)
class FrozenBroker:
    """What one broker held."""

    node_id: int
    name: str
    """Its directory's."""
    copies: Mapping[TopicPartition, FrozenCopy] = field(repr=False)
    unreadable: frozenset[TopicPartition] = frozenset()
    """Partitions of which it has a copy that cannot be opened."""

    @classmethod
    def open(cls, node_id: int, replica: Replica, open_files: OpenFiles, on_error: OnError) -> Self:
        """Open a copy's partitions; `on_error` is called for each that cannot be opened."""
        copies, unreadable = {}, set(replica.left_out)
        with ExitStack() as stack:
            for partition, directory in replica.partitions.items():
                try:
                    copy = copies[partition] = FrozenCopy.open(directory, open_files)
                    stack.callback(copy.log.close)
                except PARTITION_ERRORS as error:
                    unreadable.add(partition)
                    on_error(partition, error)
            stack.pop_all()
        return cls(node_id, replica.name, copies, frozenset(unreadable))

    @property
    def roots(self) -> list[str]:
        """The entries of log.dirs that its partitions are in."""
        return sorted({str(copy.log.directory.parent) for copy in self.copies.values()})

    def close(self) -> None:
        """Close all logs; what was read stays valid."""
        for copy in self.copies.values():
            copy.log.close()
