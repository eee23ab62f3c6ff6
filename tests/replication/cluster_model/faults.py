"""Leaders, followers' admission and registrations with one fault each."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from replication.cluster.broker.partitions.follower_progress import FollowerProgress
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.controller.brokers import broker_changes
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import IsrAnswer, IsrChange
from tests.replication.cluster_model.memory_log import MemoryLog


class CommitsForAnybody(LedPartition):
    """Its high watermark is counted from a replica outside of the ISR."""

    def _advance(self, now: int) -> None:
        super()._advance(now)
        self._log.advance_high_watermark(max([0, *(each.log_end_offset for each in self._followers.values())]))


class CommitsWithoutTheJoining(LedPartition):
    """Its high watermark does not wait for who is about to join."""

    def _advance(self, _: int) -> None:
        if not self.is_under_min_isr:
            ends = [each.log_end_offset for broker, each in self._followers.items() if broker in self.isr]
            self._log.advance_high_watermark(max(0, min([self._log.log_end_offset, *ends])))


class BeginsLate(LedPartition):
    """Its epoch is assigned after the first append, and its log does not do so by itself."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        with patch.object(MemoryLog, "assign_epoch", lambda *_: None):
            super().__init__(*arguments, **settings)

    def append(self, data: Any, **settings: Any) -> Any:
        history = self._log.history  # type: ignore[attr-defined]
        info = super().append(data, **settings)
        self._log.replica = self._log.replica.but(history=history)  # type: ignore[attr-defined]
        self._log.assign_epoch(self.leader_epoch, self._log.log_end_offset)
        return info


class TakesAnswersTwice(LedPartition):
    """It applies each answer, whatever it waits for."""

    def answered(
        self, change: IsrChange, error: ErrorCode, state: PartitionRegistration | IsrAnswer | None = None
    ) -> None:
        if error is ErrorCode.NONE and state is not None:
            self._commit(state)
        else:
            super().answered(change, error, state)


class TakesInBeforeTheEpoch(LedPartition):
    """It takes in a follower that has not reached the start of its epoch."""

    def _expansion(self, broker_id: int, follower: FollowerProgress) -> IsrChange | None:
        start, self.epoch_start_offset = self.epoch_start_offset, 0
        try:
            return super()._expansion(broker_id, follower)
        finally:
            self.epoch_start_offset = start


class ForgetsChanges(LedPartition):
    """It forgets a change of the ISR over metadata that say nothing new, as Kafka's leader does."""

    def update(self, state: PartitionRegistration) -> bool:
        if state.partition_epoch == self.partition_epoch:
            self._state = self._state.committed()
        return super().update(state)


class RemembersTooLong(LedPartition):
    """Over an epoch that it missed it counts followers as far as they had come before, as Kafka's leader does."""

    def update(self, state: PartitionRegistration) -> bool:
        if state.leader_epoch > self.leader_epoch + 1:
            self.leader_epoch = state.leader_epoch - 1
        return super().update(state)


class TrustsFormerLives(LedPartition):
    """It counts a fetch that was sent before the follower fell (KIP-903)."""

    def fetched(self, broker_id: int, broker_epoch: int, *arguments: Any, **settings: Any) -> ErrorCode:
        broker = self._followers.broker_of(broker_id)
        return super().fetched(broker_id, broker_epoch if broker is None else broker.epoch, *arguments, **settings)


@contextmanager
def trusts_any_broker_epoch() -> Iterator[None]:
    """A controller that trusts the previous broker epoch after an unclean stop."""
    restart: Callable[..., Any] = broker_changes.restart

    def as_if_clean(cluster: Any, broker_id: int, *, clean: bool) -> Any:  # noqa: ARG001
        return restart(cluster, broker_id, clean=True)

    with patch.object(broker_changes, "restart", as_if_clean):
        yield
