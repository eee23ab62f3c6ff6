"""A topic's partition, and the names of the directories that hold it."""

import re
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from logstore.errors import InvalidDirectoryNameError

# As Kafka parses them (UnifiedLog.parseTopicPartitionName): the partition follows the last dash; marked directories
# carry "topic-partition.uniqueId-suffix".
_PLAIN = re.compile(r"(?P<topic>.+)-(?P<partition>\d{1,10})", re.ASCII)
_MARKED = re.compile(r"(?P<plain>.+)\.(?P<unique>[^.]+)-(?P<mark>delete|future|stray)")
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_NO_TOPICS = re.compile(r"[^a-zA-Z0-9._-]")
_LONGEST_TOPIC = 249
_MAX_PARTITION = 2**31 - 1

METADATA_TOPIC: Final = "__cluster_metadata"
"""The controllers' own log; it may lie in a root, and the log manager leaves it alone (as in Kafka)."""

ALWAYS_COMPACTED: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Kafka's own topics that are compacted, whatever the cleaner's checkpoint says."""


class TopicPartition(NamedTuple):
    """One partition of one topic (Kafka: TopicPartition); its directory is named `topic-partition`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def ensure_is_partition(given: object) -> None:
    """Raise TypeError if a caller has passed something else."""
    if not isinstance(given, TopicPartition):
        raise TypeError(f"{given!r} is of type {type(given).__name__}: pass a TopicPartition, a topic with a number")


class DirectoryMark(Enum):
    """What a partition directory's suffix says about it."""

    NONE = ""
    """The partition's live log."""
    DELETE = "delete"
    """Marked for deletion; a broker removes it in the background and after a restart."""
    FUTURE = "future"
    """Being copied to another log directory of the same broker (KIP-113); replaces the live log later."""
    STRAY = "stray"
    """Found at start-up though the partition is no longer assigned to this broker."""


class DirectoryName(NamedTuple):
    """What a partition directory's name says."""

    topic_partition: TopicPartition
    mark: DirectoryMark


@lru_cache(4096)  # each broker has directories of the same names, and they are asked for again and again
def parse_directory_name(name: str) -> DirectoryName:
    """Parse a partition directory's name. Raises InvalidDirectoryNameError if it is not one.

    >>> parse_directory_name("orders-2").topic_partition
    TopicPartition(topic='orders', partition=2)
    >>> parse_directory_name("orders-2.7a6f01d4c1d84a1fa1a1f6a3c60b8c07-delete").mark
    <DirectoryMark.DELETE: 'delete'>
    """
    marked = _MARKED.fullmatch(name)
    mark = DirectoryMark(marked["mark"]) if marked else DirectoryMark.NONE
    plain = _PLAIN.fullmatch(marked["plain"] if marked else name)
    if plain is None or not _is_topic(plain["topic"]) or int(plain["partition"]) > _MAX_PARTITION:
        raise InvalidDirectoryNameError(
            f"{name!r} is not the name of a partition directory",
            advice="expected topic-partition, such as orders-0, with a suffix like .<id>-delete at most",
        )
    return DirectoryName(TopicPartition(plain["topic"], int(plain["partition"])), mark)


def is_partition_directory_name(name: str) -> bool:
    """Whether `parse_directory_name` would succeed."""
    try:
        parse_directory_name(name)
    except InvalidDirectoryNameError:
        return False
    return True


def partition_standing_alone(name: str) -> TopicPartition:
    """Return the partition of a log that stands alone, by its directory's name, which may be any.

    One that is no `topic-partition` is the topic, with underscores in place of what no topic may have, and the
    partition is 0. Raises InvalidDirectoryNameError for what names no directory.

    >>> partition_standing_alone("orders-2"), partition_standing_alone("my events")
    (TopicPartition(topic='orders', partition=2), TopicPartition(topic='my_events', partition=0))
    """
    if is_partition_directory_name(name):
        return parse_directory_name(name).topic_partition
    topic = _NO_TOPICS.sub("_", name)[:_LONGEST_TOPIC]
    if not _is_topic(topic):
        raise InvalidDirectoryNameError(
            f"{name!r} does not name a log's directory", advice="pass a path that ends in its name, such as data/events"
        )
    return TopicPartition(topic, 0)


def _is_topic(topic: str) -> bool:
    return _TOPIC.fullmatch(topic) is not None and topic not in {".", ".."}
