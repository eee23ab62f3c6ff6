"""Errors of a mirror."""

from pathlib import Path
from typing import Final

from replication.base.counted import counted
from replication.base.errors import ReplicationError

_NAMED: Final = 10


class ForeignDirectoryError(ReplicationError, ValueError):
    """The directory is not this mirror's: it is another cluster's, a broker's, or of unknown origin."""

    def __init__(self, root: Path, whose: str) -> None:
        super().__init__(f"{root}: {whose}; name another directory, or one that does not exist yet")


class UnknownTopicError(ReplicationError, LookupError):
    """The cluster has no such topic, or does not show it to this user."""

    def __init__(self, topic: str, bootstrap: str) -> None:
        super().__init__(f"there is no topic {topic!r} at {bootstrap}, or this user may not describe it")


class NoSuchPartitionsError(ReplicationError, LookupError):
    """The topic has fewer partitions than were asked for."""

    def __init__(self, topic: str, partitions: list[int], count: int) -> None:
        named = ", ".join(map(str, partitions[:_NAMED]))
        super().__init__(f"topic {topic!r} has {counted(count, 'partition')}, from 0 on, and not {named}")
