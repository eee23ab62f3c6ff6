"""Errors that prevent a process from being a broker, or from leading a partition."""

from logstore import TopicPartition
from replication.errors import ReplicationError


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
