"""Errors of clusters for tests, and of what clients did there."""

from pathlib import Path
from typing import Final

from replication.base.errors import ReplicationError

_LINES: Final = 15


class NotReachedError(ReplicationError, TimeoutError):
    """What a test waits for has not come in time."""

    def __init__(self, wanted: str, seconds: float) -> None:
        super().__init__(f"after {seconds:g} seconds it does not hold that {wanted}")


class BrokerProcessError(ReplicationError, ChildProcessError):
    """A broker's process has ended by itself."""

    def __init__(self, status: int, log_path: Path) -> None:
        lines = log_path.read_text(errors="replace").splitlines()[-_LINES:]
        super().__init__(
            "\n".join([f"the broker's process has ended with status {status}: {log_path} ends with", *lines])
        )


class HistoryError(ReplicationError, ValueError):
    """What clients are said to have done is not understood, or cannot be judged."""
