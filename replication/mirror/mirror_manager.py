"""A mirror's fetchers, which tell when a partition gets another leader."""

from collections.abc import Callable
from uuid import UUID

from logstore import Log, TopicPartition
from replication.fetcher.fetcher_manager import FetcherManager, LeaderAddress
from replication.mirror.events import Event, LeaderChanged


class MirrorManager(FetcherManager):
    """Follows partitions, and tells of their new leaders; of the first ones there is nothing to tell."""

    tell: Callable[[Event], object] = staticmethod(lambda _: None)

    def follow(
        self,
        partition: TopicPartition,
        log: Log,
        leader: LeaderAddress,
        leader_epoch: int,
        topic_id: UUID | None = None,
    ) -> None:
        """Follow a partition, or follow its new leader."""
        before = self.state(partition)
        super().follow(partition, log, leader, leader_epoch, topic_id)
        if before is not None:
            self.tell(LeaderChanged(partition, leader.broker_id, leader_epoch, log.log_end_offset))
