"""Why a replica, or what was read of it, does not count."""

from replication.base.errors import ReplicationError


class ReplicaMovedError(ReplicationError, RuntimeError):
    """A replica has changed while it was read, or is about to: it is read again."""


class ReplicaUnreadError(ReplicationError, RuntimeError):
    """A broker does not answer with what a replica holds: reading it again at once would not help."""


class ThrottledError(ReplicaUnreadError):
    """A broker has throttled us for so long that it is no use to wait, for this replica or another one of it."""
