"""What can keep a running cluster's answers from being used."""

from replication.base.errors import ReplicationError


class NotAnsweredError(ReplicationError, RuntimeError):
    """A broker refuses to describe a partition, or its answer cannot be understood."""
