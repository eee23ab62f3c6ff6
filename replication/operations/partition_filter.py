"""Which partitions to show."""

import re
from dataclasses import dataclass
from typing import Self

from replication.operations.partition_view import Condition, PartitionView


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFilter:
    """Selects partitions by topic and by condition."""

    topics: tuple[re.Pattern[str], ...] = ()
    """One of these must match the whole name; empty: all topics."""
    conditions: frozenset[Condition] = frozenset()
    """One of these must be the case; empty: any or none."""
    without_internal: bool = False

    @classmethod
    def naming(cls, topics: tuple[str, ...], conditions: frozenset[Condition], *, without_internal: bool) -> Self:
        """Take topics as Kafka's tools do: names, or regular expressions. Raises re.error (Kafka: IncludeList)."""
        patterns = tuple(re.compile(topic.replace(",", "|")) for topic in topics)
        return cls(topics=patterns, conditions=conditions, without_internal=without_internal)

    def keeps(self, partition: PartitionView) -> bool:
        """Whether a partition is to be shown."""
        return (
            self.keeps_topic(partition.partition.topic)
            and not (self.without_internal and partition.is_internal)
            and (not self.conditions or not self.conditions.isdisjoint(partition.conditions))
        )

    def keeps_topic(self, topic: str) -> bool:
        """Whether partitions of a topic may be shown."""
        return not self.topics or any(pattern.fullmatch(topic) for pattern in self.topics)
