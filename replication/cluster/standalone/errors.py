"""Errors of a cluster that is its own controller."""

from collections.abc import Collection
from os import PathLike, fspath

from replication.base.errors import ReplicationError


class ControllerFailedError(ReplicationError, RuntimeError):
    """What the controller decided could not be written: it decides nothing more."""

    def __init__(self, failure: BaseException) -> None:
        super().__init__(
            f"the metadata could not be written ({failure}); stop the process, check its disk, and start it again"
        )


class OtherNodeError(ReplicationError, ValueError):
    """A directory is another broker's than it is said to be."""

    def __init__(self, root: str | PathLike[str], owner: int | None, node_id: int) -> None:
        super().__init__(
            f"{fspath(root)} is broker {owner}'s by its meta.properties, and node.id is {node_id}: name the "
            "directories of that broker, or leave node.id out"
        )


class NotFormattedError(ReplicationError, ValueError):
    """A directory holds something, and is no broker's."""

    def __init__(self, root: str | PathLike[str]) -> None:
        super().__init__(
            f"{fspath(root)} is not empty and has no meta.properties, so it is no broker's log.dirs root: name an "
            "empty directory or one that does not exist yet, or a broker's own"
        )


class NewRootError(ReplicationError, FileNotFoundError):
    """A directory is nobody's yet, and nobody has asked for a new broker."""

    def __init__(self, root: str | PathLike[str], *, exists: bool) -> None:
        self.file = fspath(root)
        """The directory."""
        what = "is empty" if exists else "does not exist"
        super().__init__(
            f"{self.file} {what}, and no broker is made unasked: correct the path or mount its disk, or "
            "add --create to format a new broker there"
        )


class OtherVotersError(ReplicationError, ValueError):
    """The metadata belongs to a quorum in which others have a vote."""

    def __init__(self, root: str | PathLike[str], voters: Collection[int], node_id: int | None) -> None:
        super().__init__(
            f"{fspath(root)} holds the metadata of a quorum whose voters are {', '.join(map(str, sorted(voters)))}, "
            f"not node {node_id} alone: they may lead it at the same time. Join them as one of their brokers (epochlog "
            "broker), read copies with --read-only, or let Kafka's controllers remove the others first, where the log "
            "names the voters (kafka-metadata-quorum.sh remove-controller)"
        )


class UnknownVotersError(ReplicationError, ValueError):
    """The metadata may belong to a quorum in which others have a vote: what said who has one is cut off."""

    def __init__(self, directory: str | PathLike[str]) -> None:
        super().__init__(
            f"{fspath(directory)} no longer says who the voters of its quorum are: the log begins after their last "
            "election, the snapshot names none, and there is no quorum-state with them. Others may lead at the same "
            "time; put the quorum-state back that belongs to this directory"
        )


class NoMetadataError(ReplicationError, ValueError):
    """Directories hold partitions, and what says whose they are is missing."""

    def __init__(self, root: str | PathLike[str]) -> None:
        super().__init__(
            f"{fspath(root)} holds partitions, but no directory that is named holds __cluster_metadata-0, which says "
            "who leads them: name its directory too (metadata.log.dir), or read them with --read-only"
        )
