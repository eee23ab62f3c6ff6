"""Errors that prevent a process from being a broker."""

from replication.errors import ReplicationError


class InconsistentDirectoriesError(ReplicationError, ValueError):
    """The log.dirs of a broker contradict each other, or lack its identity."""
