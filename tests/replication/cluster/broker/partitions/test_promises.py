"""What a leader promises, on random walks; leaders with one fault each break it."""

from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Final

import pytest

from logstore import Log
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import IsrAnswer, IsrChange
from tests.campaign import Campaign
from tests.replication.cluster.broker.partitions.promises import Promises
from tests.replication.cluster.broker.partitions.random_walk import RandomWalk

CAMPAIGN = Campaign("promises of leaders", full=10_000, share=300)
STEPS: Final = 40
MOST_WALKS: Final = 200


class CommitsForAnybody(LedPartition):
    """Its high watermark follows the furthest follower, in sync or not."""

    def _advance(self, now: int) -> None:
        super()._advance(now)
        self._log.advance_high_watermark(max([0, *(each.log_end_offset for each in self._followers.values())]))


class CommitsWithoutTheJoining(LedPartition):
    """Its high watermark does not wait for who may be in sync already."""

    def _advance(self, _: int) -> None:
        ends = [each.log_end_offset for broker, each in self._followers.items() if broker in self.isr]
        self._log.advance_high_watermark(max(0, min([self._log.log_end_offset, *ends])))


class _LateEpoch:
    """A log whose epoch begins with the first record."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """Leave it to the append."""

    def __getattr__(self, name: str) -> object:
        return getattr(self._log, name)


class BeginsLate(LedPartition):
    """Its epoch is assigned by the first append."""

    def __init__(self, partition: object, topic_id: object, log: Log, *rest: object, **settings: object) -> None:
        super().__init__(partition, topic_id, _LateEpoch(log), *rest, **settings)  # type: ignore[arg-type]


class TakesAnswersTwice(LedPartition):
    """It applies each answer, whatever it waits for."""

    def answered(
        self, change: IsrChange, error: ErrorCode, state: PartitionRegistration | IsrAnswer | None = None
    ) -> None:
        if error is ErrorCode.NONE and state is not None:
            self._commit(state)
        else:
            super().answered(change, error, state)


def broken_promises(seed: str, root: Path, make: type[LedPartition] = LedPartition) -> set[str]:
    """The promises that a leader breaks on a walk."""
    broken: set[str] = set()
    walk = RandomWalk(Random(seed), root, repeats=True, make=make)
    with walk.leader:
        before = Promises.of(walk)
        if before.epoch_starts.get(before.leader_epoch) != before.log_end_offset:
            broken.add("an epoch begins before its first record")
        for _ in range(STEPS):
            steps = len(walk.commands)
            walk.step()
            after = Promises.of(walk)
            broken |= {promise for command in walk.commands[steps:] for promise in before.broken_by(after, command)}
            before = after
    rmtree(root / "orders-0")
    return broken


def test_a_leader_keeps_its_promises(tmp_path: Path) -> None:
    for number in range(CAMPAIGN.count):
        seed = f"{CAMPAIGN.seed}:{number}"
        assert not broken_promises(seed, tmp_path), seed
    CAMPAIGN.report(CAMPAIGN.count)


@pytest.mark.parametrize(
    ("make", "promise"),
    [
        (CommitsForAnybody, "all of the maximal ISR have what is committed"),
        (CommitsForAnybody, "nothing is committed while too few are in sync"),
        (CommitsWithoutTheJoining, "all of the maximal ISR have what is committed"),
        (BeginsLate, "an epoch begins before its first record"),
        (TakesAnswersTwice, "a late answer changes nothing"),
    ],
)
def test_a_leader_with_a_fault_does_not(tmp_path: Path, make: type[LedPartition], promise: str) -> None:
    assert any(promise in broken_promises(str(number), tmp_path, make) for number in range(MOST_WALKS))
