"""Why nothing is repaired."""

from pathlib import Path

from replication.base.errors import ReplicationError


class RepairError(ReplicationError):
    """The base class of what is wrong with a repair."""


class OtherPartitionError(RepairError, ValueError):
    """A copy that was named to heal from is none of the same partition."""

    def __init__(self, other: Path, problem: str) -> None:
        super().__init__(f"{other}: {problem}; name copies of the same partition, of other replicas in its cluster")
        self.path = other


class RepairTargetError(RepairError, OSError):
    """The repaired copy cannot be written there; nothing of it is left."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
