"""What a broker is to each of its partitions, and who is told when that changes."""

from collections.abc import Callable
from typing import Final, NamedTuple

from logstore import TopicPartition
from logstore.log.readable_log import ReadableLog
from replication.cluster.broker.events.partition_events import NO_EPOCH, Role, RoleChanged

_NOBODY: Final = -1


class _Standing(NamedTuple):
    role: Role = Role.NONE
    leader_epoch: int = NO_EPOCH
    leader: int = _NOBODY


class PartitionRoles:
    """Reports each change once: a replica that follows the same leader in the same epoch as before is not reported."""

    def __init__(self, tell: Callable[[RoleChanged], object]) -> None:
        """Create it without partitions; `tell` must return quickly, and raise nothing."""
        self._tell: Final = tell
        self._standings: Final[dict[TopicPartition, _Standing]] = {}

    def leads(self, partition: TopicPartition, log: ReadableLog, leader: int, leader_epoch: int, why: str) -> None:
        """Note that this broker leads."""
        self._take(partition, _Standing(Role.LEADER, leader_epoch, leader), why, log)

    def follows(self, partition: TopicPartition, log: ReadableLog, leader: int, leader_epoch: int) -> None:
        """Note that another broker leads, or nobody."""
        why = "no broker leads" if leader == _NOBODY else f"broker {leader} leads"
        self._take(partition, _Standing(Role.FOLLOWER, leader_epoch, leader), why, log)

    def is_offline(self, partition: TopicPartition, why: str) -> None:
        """Note that its replica cannot be used; in its epoch nothing is done here any more."""
        before = self._standings.get(partition, _Standing())
        self._take(partition, before._replace(role=Role.OFFLINE), why)

    def has_none(self, partition: TopicPartition, why: str) -> None:
        """Note that it has no replica any more."""
        if partition in self._standings:
            self._take(partition, _Standing(), why)
            del self._standings[partition]

    def end(self, why: str) -> None:
        """Note that it has no role in any partition any more."""
        for partition in list(self._standings):
            self.has_none(partition, why)

    def _take(self, partition: TopicPartition, after: _Standing, why: str, log: ReadableLog | None = None) -> None:
        before = self._standings.get(partition, _Standing())
        self._standings[partition] = after
        if after == before:
            return
        event = RoleChanged(
            partition=partition,
            before=before.role,
            after=after.role,
            leader_epoch_before=before.leader_epoch,
            leader_epoch=after.leader_epoch,
            leader=after.leader,
            log_end_offset=None if log is None else log.log_end_offset,
            high_watermark=None if log is None else log.high_watermark,
            why=why,
        )
        self._tell(event)
