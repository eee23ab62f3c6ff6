"""Partitions grouped by topic, as requests carry them."""

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar

from logstore import TopicPartition

T = TypeVar("T")


def by_topic(partitions: Iterable[tuple[TopicPartition, T]]) -> dict[str, list[tuple[int, T]]]:
    """Group what is known of partitions under their topics, in the order given."""
    topics: dict[str, list[tuple[int, T]]] = defaultdict(list)
    for (topic, partition), value in partitions:
        topics[topic].append((partition, value))
    return topics
