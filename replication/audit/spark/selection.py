"""Which partitions and offsets are asked for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from epoch.history import MAX_OFFSET
from logstore.batch.columns import BatchColumns
from logstore.topic_partition import TopicPartition
from replication.audit.copy_summary import SegmentExtent


@dataclass(frozen=True, slots=True)
class Selection:
    """Everything, but for what is restricted."""

    topics: tuple[str, ...] = ()
    """Names or patterns; none for all."""
    partitions: frozenset[TopicPartition] = frozenset()
    """None for all."""
    first_offset: int = 0
    last_offset: int = MAX_OFFSET

    def wants(self, partition: TopicPartition) -> bool:
        """Return whether a partition is asked for.

        >>> Selection(topics=("orders-*",)).wants(TopicPartition("payments", 0))
        False
        """
        if self.partitions and partition not in self.partitions:
            return False
        return is_of_topics(partition, self.topics)

    def holds(self, offset: int) -> bool:
        """Return whether a record is asked for."""
        return self.first_offset <= offset <= self.last_offset

    def segments(self, segments: Sequence[SegmentExtent]) -> Iterator[SegmentExtent]:
        """Leave out the segments in which, by their names, nothing is asked for."""
        for number, segment in enumerate(segments, 1):
            # The first batches of the next segment begin at its name's offset, or beyond where the cleaner was at work.
            end = segments[number].base_offset - 1 if number < len(segments) else MAX_OFFSET
            if segment.size and segment.base_offset <= self.last_offset and end >= self.first_offset:
                yield segment

    def batches(self, columns: BatchColumns) -> BatchColumns:
        """Leave out the batches that hold no offset that is asked for."""
        if self.first_offset == 0 and self.last_offset == MAX_OFFSET:
            return columns
        return columns.where((columns.last_offset >= self.first_offset) & (columns.base_offset <= self.last_offset))


def is_of_topics(partition: TopicPartition, topics: Sequence[str]) -> bool:
    """Return whether a partition is of one of the topics, which are names or patterns like `orders-*`; none are all."""
    return not topics or any(fnmatchcase(partition.topic, pattern) for pattern in topics)
