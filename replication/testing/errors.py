"""Errors of clusters for tests."""

from replication.errors import ReplicationError


class NotReachedError(ReplicationError, TimeoutError):
    """What a test waits for has not come in time."""

    def __init__(self, wanted: str, seconds: float) -> None:
        super().__init__(f"after {seconds:g} seconds it does not hold that {wanted}")
