"""Errors that prevent a process from being a broker."""

from os import PathLike, fspath
from uuid import UUID

from logstore.files.partition_metadata import format_uuid
from replication.errors import ReplicationError


class InconsistentDirectoriesError(ReplicationError, ValueError):
    """The log.dirs of a broker contradict each other, or lack its identity."""


class OtherTopicError(ReplicationError, ValueError):
    """A partition's directory belongs to an earlier topic of the same name."""

    def __init__(self, directory: str | PathLike[str], held: UUID, expected: UUID) -> None:
        super().__init__(
            f"{fspath(directory)} holds a partition of topic {format_uuid(held)}, by its partition.metadata, but the "
            f"cluster's topic of that name is {format_uuid(expected)}: it was deleted and made again meanwhile; move "
            "the directory out of its log.dirs root, and start the broker again"
        )
