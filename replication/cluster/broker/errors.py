"""Errors that prevent a process from being a broker, or from leading a partition."""

from os import PathLike, fspath
from typing import Final
from uuid import UUID

from logstore import TopicPartition
from logstore.directory.shortfalls.shortfall import Shortfall
from logstore.files.partition_metadata import format_uuid
from replication.base.errors import ReplicationError


class InconsistentDirectoriesError(ReplicationError, ValueError):
    """The log.dirs of a broker contradict each other, or lack its identity."""


class NotLeaderError(ReplicationError, RuntimeError):
    """This broker does not lead the partition any more: nothing was appended."""

    def __init__(self, partition: TopicPartition, broker_id: int, leader_epoch: int) -> None:
        super().__init__(
            f"broker {broker_id} has led {partition} in epoch {leader_epoch} and does not any more: ask for the leader"
        )


class NotEnoughReplicasError(ReplicationError, RuntimeError):
    """Fewer replicas are in sync than acks=all demands: nothing was appended."""

    def __init__(self, partition: TopicPartition, isr: tuple[int, ...], min_isr: int) -> None:
        super().__init__(
            f"of {partition} only brokers {', '.join(map(str, isr))} are in sync, and min.insync.replicas asks for"
            f" {min_isr}: send it again once more have caught up"
        )


class OtherTopicError(ReplicationError, ValueError):
    """A partition's directory belongs to an earlier topic of the same name."""

    def __init__(self, directory: str | PathLike[str], held: UUID, expected: UUID) -> None:
        super().__init__(
            f"{fspath(directory)} holds a partition of topic {format_uuid(held)}, by its partition.metadata, but the "
            f"cluster's topic of that name is {format_uuid(expected)}: it was deleted and created again meanwhile; "
            "move the directory out of its log.dirs root, and start the broker again"
        )


class UnfinishedCopyError(ReplicationError, RuntimeError):
    """The copy of a log does not come to its end, as there is nothing to copy."""

    def __init__(self, directory: str | PathLike[str], copy_end: int, log_end: int) -> None:
        super().__init__(
            f"{fspath(directory)} ends at offset {copy_end:,}, and the log at {log_end:,} with nothing in between: it"
            " is moved once another record has been written"
        )


class LostReplicaError(ReplicationError, RuntimeError):
    """The directory of a replica is gone, and an empty log in its place might be taken for what it held."""

    def __init__(
        self, partition: TopicPartition, directory_id: UUID, *, is_only: bool, copy: PathLike[str] | None = None
    ) -> None:
        """`copy` is what an unfinished move from there has left."""
        gone = (
            f"{partition} lay in the directory with the id {format_uuid(directory_id)}, which is not one of the "
            "log.dirs"
        )
        advice = _NO_OTHER if is_only else _OTHERS
        if copy is not None:
            advice = (
                f"it was being moved, and {fspath(copy)} is what was copied, the only copy; stop the broker, and "
                f"rename that directory to {partition} to continue with it, or remove it to begin with nothing"
            )
        super().__init__(f"{gone}: {advice}")


_NO_OTHER: Final = (
    "there is no other replica; stop the broker, and start it with that directory again, or delete the topic"
)
_OTHERS: Final = (
    "it is created again once another broker leads, and this one is neither in the ISR nor eligible as leader "
    "(KIP-966), for which it may have to be restarted; if there is no leader, start it with that directory, or elect "
    "another replica, uncleanly (kafka-leader-election.sh); if no other is alive, add one first with "
    "kafka-reassign-partitions.sh"
)


class ShortReplicaError(ReplicationError, RuntimeError):
    """A log has less than its broker's checkpoint files, or the metadata, say: others would be cut to what is left."""

    def __init__(self, partition: TopicPartition, short: Shortfall, *, is_only: bool, missing: str = "") -> None:
        """`missing` is what the leader lacks of it, too."""
        known = f"; {missing}" if missing else ""
        super().__init__(f"{short}{known}: {ways_out(partition, is_only=is_only)}")


def ways_out(partition: TopicPartition, *, is_only: bool) -> str:
    """Return what can be done about a replica that has less than was said of it."""
    return (_WAYS_OF_ONLY if is_only else _WAYS).format(partition=partition)


_ACCEPTING: Final = "start it once with --accept-loss {partition} (of epochlog broker and epochlog serve)"
_WAYS_OF_ONLY: Final = (
    "there is no other replica, so it is not served; stop this broker, and put the directory back as it was, or, to "
    f"continue with what is left, {_ACCEPTING}"
)
_WAYS: Final = (
    "this broker does not lead it, and stays fenced, until another replica leads; start the brokers of the others; if "
    "none of them leads by itself, elect one, uncleanly (kafka-leader-election.sh), which may lack the newest "
    "records: epochlog elect --dry-run reports that; or stop this broker, and put the directory back as it was "
    "(epochlog repair heals a damaged one from copies of other replicas); to make this replica the leader, and "
    f"truncate the others to what is left, {_ACCEPTING}"
)


class LostTailError(ReplicationError, RuntimeError):
    """A log has lost its end, which others may hold, or count on: it must not go on in the same epoch."""

    def __init__(self, partition: TopicPartition, end: int, former_end: int, mark: str | PathLike[str]) -> None:
        super().__init__(
            f"{partition} ended at offset {former_end:,} and was recovered up to {end:,} only, and other replicas may "
            "hold the rest, or count on it: it continues once it follows a leader and is neither in the ISR nor "
            "eligible as leader, or elected uncleanly; stop this broker, and start it again once another replica "
            "leads, elected uncleanly where no other is in the ISR; if none has the rest, start it once with "
            f"--accept-loss {partition}, or remove {fspath(mark)}"
        )
