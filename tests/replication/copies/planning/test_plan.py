"""What a plan says must hold for any two replicas: checked against models that need no protocol."""

import random
from pathlib import Path

import pytest

from epoch import TruncationProtocol
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from replication.planning import Relation, TruncationPlan, plan
from tests.campaign import Campaign
from tests.replication.partitions import ABatch, write_partition

CLUSTERS = Campaign("plan: random clusters", full=2_000, share=300)
HISTORIES = Campaign("plan: random histories", full=2_000, share=300)


class Cluster:
    """Replicas that lead, follow and lag at random; whoever is elected keeps what it has, so logs fork."""

    def __init__(self, rng: random.Random, size: int) -> None:
        self.rng = rng
        self.logs: list[list[ABatch]] = [[] for _ in range(size)]
        self.epochs: list[dict[int, int]] = [{} for _ in range(size)]
        self.leader = 0
        self.epoch = 0

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.rng.choice([self.elect, self.write, self.write, self.replicate, self.replicate])()

    def elect(self) -> None:
        self.leader = self.rng.randrange(len(self.logs))
        self.epoch += self.rng.randint(1, 3)

    def write(self) -> None:
        log = self.logs[self.leader]
        base = log[-1].end if log else 0
        self.epochs[self.leader].setdefault(self.epoch, base)
        log.append(ABatch(base, self.rng.randint(1, 9), self.epoch))

    def replicate(self) -> None:
        follower = self.rng.choice([number for number in range(len(self.logs)) if number != self.leader])
        leaders, followers = self.logs[self.leader], self.logs[follower]
        shared = common_batches(leaders, followers)
        copied = leaders[: shared + self.rng.randint(0, 3)]
        self.logs[follower] = list(copied)
        self.epochs[follower] = {}
        for each in copied:
            self.epochs[follower].setdefault(each.epoch, each.base_offset)


def common_batches(first: list[ABatch], second: list[ABatch]) -> int:
    shared = 0
    while shared < min(len(first), len(second)) and first[shared] == second[shared]:
        shared += 1
    return shared


def load(directory: Path) -> RecoveredLog:
    return RecoveredLog.load(PartitionDirectory.open(directory))


def expected_relation(shared_end: int, leader_end: int, follower_end: int) -> Relation:
    if shared_end == leader_end == follower_end:
        return Relation.IDENTICAL
    if shared_end == follower_end:
        return Relation.LAGGING
    return Relation.AHEAD if shared_end == leader_end else Relation.FORKED


def test_in_any_cluster_the_plan_cuts_where_the_logs_part(tmp_path: Path) -> None:
    rng = random.Random(CLUSTERS.seed)
    relations, rounds = set(), set()
    for number in range(CLUSTERS.count):
        cluster = Cluster(rng, size=rng.randint(2, 4))
        cluster.run(steps=rng.randint(0, 80))
        leader, follower = rng.sample(range(len(cluster.logs)), 2)
        directories = [
            write_partition(tmp_path / f"{number}-{each}", cluster.logs[each], sorted(cluster.epochs[each].items()))
            for each in (leader, follower)
        ]
        leaders, followers = cluster.logs[leader], cluster.logs[follower]
        shared = common_batches(leaders, followers)
        ends = [log[-1].end if log else 0 for log in (leaders, followers)]
        planned = plan(*map(load, directories))
        assert planned.truncate_to == (followers[shared - 1].end if shared else 0)
        assert planned.records_lost == sum(each.count for each in followers[shared:])
        assert planned.bytes_lost == sum(len(each.encoded()) for each in followers[shared:])
        assert planned.relation is expected_relation(planned.truncate_to, *ends)
        relations.add(planned.relation)
        rounds.add(len(planned.rounds))
    assert relations == set(Relation)
    assert max(rounds) > 1
    CLUSTERS.report(CLUSTERS.count, f"up to {max(rounds)} rounds")


def random_log(rng: random.Random) -> tuple[list[ABatch], list[tuple[int, int]], int]:
    """A log with batches and a history that need not fit each other's replica: cuts fall anywhere."""
    start = rng.choice([0, 0, rng.randint(1, 60)])
    batches: list[ABatch] = []
    epoch, offset = 0, start
    for _ in range(rng.randint(0, 12)):
        epoch += rng.choice([0, 0, 1, 2])
        batches.append(ABatch(offset, rng.randint(1, 9), epoch))
        offset = batches[-1].end
    entries: dict[int, int] = {}
    for each in batches:
        entries.setdefault(each.epoch, each.base_offset)
    return batches, list(entries.items()), start


@pytest.mark.parametrize("protocol", list(TruncationProtocol))
def test_what_is_lost_is_every_batch_that_reaches_the_cut(protocol: TruncationProtocol, tmp_path: Path) -> None:
    rng = random.Random(HISTORIES.seed)
    cut_inside = 0
    for number in range(HISTORIES.count // len(TruncationProtocol)):
        leaders, leader_epochs, start = random_log(rng)
        batches, epochs, own_start = random_log(rng)
        end = batches[-1].end if batches else own_start
        leader = write_partition(tmp_path / f"{number}-leader", leaders, leader_epochs, start=start)
        follower = write_partition(
            tmp_path / f"{number}-follower",
            batches,
            epochs,
            start=own_start,
            high_watermark=rng.randint(own_start, end),
        )
        planned = plan(load(leader), load(follower), protocol)
        gone = [each for each in batches if each.end > planned.truncate_to]
        assert planned.truncate_to <= end
        assert planned.records_lost == sum(each.count for each in gone)
        assert planned.bytes_lost == sum(len(each.encoded()) for each in gone)
        cut_inside += any(each.base_offset < planned.truncate_to for each in gone)
        check_rounds(planned)
    assert cut_inside
    HISTORIES.report(HISTORIES.count // len(TruncationProtocol), f"{protocol.value}, {cut_inside} cuts inside a batch")


def check_rounds(planned: TruncationPlan) -> None:
    requested = [each.requested_epoch for each in planned.rounds]
    assert requested == sorted(set(requested), reverse=True)
    if planned.protocol is TruncationProtocol.HIGH_WATERMARK:
        assert requested == []
    if planned.protocol is TruncationProtocol.KIP_101:
        assert len(requested) <= 1
