"""Which partitions to show."""

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

from replication.cluster.operations.partition_view import Condition, PartitionView


class TopicPattern(NamedTuple):
    """A choice of topics, as it was written."""

    written: str
    pattern: re.Pattern[str]
    """What a topic's whole name has to match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFilter:
    """Selects partitions by topic and by condition."""

    topics: tuple[TopicPattern, ...] = ()
    """One of these must match; empty: all topics."""
    conditions: frozenset[Condition] = frozenset()
    """One of these must be the case; empty: any or none."""
    without_internal: bool = False

    @classmethod
    def naming(
        cls,
        names: Iterable[str],
        conditions: frozenset[Condition],
        *,
        expressions: Iterable[str] = (),
        without_internal: bool,
    ) -> Self:
        """Create a filter of names or patterns such as `orders*`, and of regular expressions (Kafka's IncludeList).

        Raises re.error.
        """
        named = [TopicPattern(name, re.compile(fnmatch.translate(name))) for name in names]
        named += [TopicPattern(each, re.compile(each.replace(",", "|"))) for each in expressions]
        return cls(topics=tuple(named), conditions=conditions, without_internal=without_internal)

    def keeps(self, partition: PartitionView) -> bool:
        """Whether a partition is to be shown."""
        return (
            self.keeps_topic(partition.partition.topic)
            and not (self.without_internal and partition.is_internal)
            and (not self.conditions or not self.conditions.isdisjoint(partition.conditions))
        )

    def keeps_topic(self, topic: str) -> bool:
        """Whether partitions of a topic may be shown."""
        return not self.topics or any(each.pattern.fullmatch(topic) for each in self.topics)
