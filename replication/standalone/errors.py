"""Errors of a cluster that is its own controller."""

from os import PathLike, fspath

from replication.errors import ReplicationError


class ControllerFailedError(ReplicationError, RuntimeError):
    """What the controller decided could not be written: it decides nothing more."""

    def __init__(self, failure: Exception) -> None:
        super().__init__(
            f"the metadata could not be written ({failure}); stop the process, see to its disk, and start it again"
        )


class ControllerUnreachableError(ReplicationError, ConnectionError):
    """The controller cannot be asked now; later it may be."""


class NotFormattedError(ReplicationError, ValueError):
    """A directory holds something, and is no broker's."""

    def __init__(self, root: str | PathLike[str]) -> None:
        super().__init__(
            f"{fspath(root)} is not empty and has no meta.properties, so it is no broker's log.dirs root: name an "
            "empty directory or one that does not exist yet, or a broker's own"
        )
