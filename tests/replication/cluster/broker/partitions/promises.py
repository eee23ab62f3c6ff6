"""What a leader promises, whatever happens: looked at before and after each step of a walk."""

from dataclasses import dataclass
from typing import Self

from replication.wire.messages.alter_partition import IsrChange
from tests.replication.cluster.broker.partitions.random_walk import RandomWalk


@dataclass(frozen=True)
class Promises:
    """A leader between two steps."""

    high_watermark: int
    log_end_offset: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    maximal_isr: frozenset[int]
    is_under_min_isr: bool
    followers: dict[int, int]
    pending: IsrChange | None
    asked: tuple[IsrChange, ...]
    epoch_starts: dict[int, int]

    @classmethod
    def of(cls, walk: RandomWalk) -> Self:
        led, log = walk.leader.led, walk.leader.log
        progress = {broker_id: led.progress_of(broker_id) for broker_id in led.followers}
        return cls(
            high_watermark=log.high_watermark,
            log_end_offset=log.log_end_offset,
            leader_epoch=led.leader_epoch,
            partition_epoch=led.partition_epoch,
            isr=led.isr,
            maximal_isr=led.maximal_isr,
            is_under_min_isr=led.is_under_min_isr,
            followers={broker_id: each.log_end_offset for broker_id, each in progress.items() if each is not None},
            pending=led.wanted,
            asked=tuple(walk.leader.asked),
            epoch_starts={each.epoch: each.start_offset for each in log.epochs.entries},
        )

    def broken_by(self, after: Self, command: str) -> list[str]:
        """Return which promises a step broke."""
        step, *rest = command.split(" ")
        least = min(
            [after.log_end_offset, *(end for each, end in after.followers.items() if each in after.maximal_isr)]
        )
        moved = after.high_watermark > self.high_watermark
        is_late = step == "answer" and self.pending != self.asked[int(rest[0])]
        news = len(after.asked) - len(self.asked)
        begins = after.epoch_starts.get(after.leader_epoch)
        broken = {
            "the high watermark never goes back": after.high_watermark < self.high_watermark,
            "all of the maximal ISR have what is committed": moved and after.high_watermark > least,
            "nothing is committed while too few are in sync": moved and after.is_under_min_isr,
            "a late answer changes nothing": is_late and self._replicas() != after._replicas(),
            "the ISR changes by answers and metadata alone": step not in {"answer", "metadata"}
            and self.isr != after.isr,
            "one change is asked for at a time": news > (self.pending is None or step == "answer"),
            "an epoch begins before its first record": begins is None
            or (after.leader_epoch > self.leader_epoch and begins != self.log_end_offset),
            "no epoch goes back": (after.leader_epoch, after.partition_epoch)
            < (self.leader_epoch, self.partition_epoch),
        }
        return [promise for promise, is_broken in broken.items() if is_broken]

    def _replicas(self) -> tuple[object, ...]:
        return self.isr, self.maximal_isr, self.partition_epoch
