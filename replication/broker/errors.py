"""What keeps a process from being a broker."""

from replication.errors import ReplicationError


class InconsistentDirectoriesError(ReplicationError, ValueError):
    """The log.dirs of a broker do not say the same of it, or not enough."""
