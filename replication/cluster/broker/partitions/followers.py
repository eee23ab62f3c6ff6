"""The other replicas of a partition, as its leader knows them."""

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Final, Self

from replication.cluster.broker.partitions.follower_progress import FollowerProgress
from replication.records.metadata.nodes import BrokerRegistration
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.messages.alter_partition import ANY_BROKER_EPOCH, InSyncReplica


class Followers(Mapping[int, FollowerProgress]):
    """How far each has got, by broker ids. Which brokers they are does not change: others are other followers.

    Times are in milliseconds of the leader's clock.
    """

    def __init__(
        self,
        leader: int,
        broker_of: Callable[[int], BrokerRegistration | None],
        progress: Mapping[int, FollowerProgress] = MappingProxyType({}),
    ) -> None:
        """Know so much; `broker_of` returns a broker's registration in the newest metadata, None for an unknown one."""
        self._leader: Final = leader
        self.broker_of: Final = broker_of
        self._progress: Final = dict(progress)

    def __getitem__(self, broker_id: int) -> FollowerProgress:
        return self._progress[broker_id]

    def __iter__(self) -> Iterator[int]:
        return iter(self._progress)

    def __len__(self) -> int:
        return len(self._progress)

    # --- others

    def unheard_of(self, state: PartitionRegistration, now: int) -> Self:
        """Return those of a partition, of which nothing is known yet."""
        return self._with(
            {each: FollowerProgress(now) if each in state.isr else FollowerProgress() for each in state.replicas}
        )

    def among(self, replicas: Collection[int]) -> Self:
        """Return those among other replicas, with what is known of them."""
        return self._with({each: self._progress.get(each) or FollowerProgress() for each in replicas})

    def _with(self, progress: Mapping[int, FollowerProgress]) -> Self:
        others = {broker_id: each for broker_id, each in progress.items() if broker_id != self._leader}
        return type(self)(self._leader, self.broker_of, others)

    # --- what happens

    def follow_on(self, now: int, isr: Collection[int]) -> None:
        """Go on in another epoch of the same leader, in which these are in sync."""
        for broker_id, follower in self._progress.items():
            follower.follow_on(now, in_sync=broker_id in isr)

    # --- what is known

    def log_start_offsets(self) -> list[int]:
        """Return where the logs of those on living brokers begin; UNKNOWN_OFFSET for others."""
        return [each.log_start_offset for broker_id, each in self._progress.items() if self._is_alive(broker_id)]

    def awaited_end_offsets(self, isr: Collection[int], end_offset: int, now: int, max_lag_ms: int) -> list[int]:
        """Return how far those have come for whom the high watermark waits: the ISR, and who is about to join it."""
        return [
            follower.log_end_offset
            for broker_id, follower in self._progress.items()
            if broker_id in isr
            or (follower.is_caught_up(end_offset, now, max_lag_ms) and follower.may_join(self.broker_of(broker_id)))
        ]

    def in_sync(self, isr: Collection[int], end_offset: int, now: int, max_lag_ms: int) -> tuple[int, ...]:
        """Return those of an ISR, the leader among them, that have not fallen behind for too long."""
        return tuple(
            each
            for each in isr
            if each == self._leader
            or (each in self._progress and self._progress[each].is_caught_up(end_offset, now, max_lag_ms))
        )

    def registered(self, isr: Collection[int]) -> tuple[InSyncReplica, ...]:
        """Return replicas, the leader among them, with the epochs of their brokers (KIP-903)."""
        return tuple(InSyncReplica(each, self._broker_epoch(each)) for each in isr)

    def _is_alive(self, broker_id: int) -> bool:
        broker = self.broker_of(broker_id)
        return broker is not None and not broker.fenced

    def _broker_epoch(self, broker_id: int) -> int:
        """Return the epoch in which a broker was registered when it fetched; the leader's is what the metadata says."""
        if broker_id == self._leader:
            broker = self.broker_of(broker_id)
            return ANY_BROKER_EPOCH if broker is None else broker.epoch
        follower = self._progress.get(broker_id)
        return ANY_BROKER_EPOCH if follower is None or follower.broker_epoch is None else follower.broker_epoch
