"""A follower cuts where `plan` says beforehand that it will, in as many rounds, whichever way it finds out."""

import random
from pathlib import Path

import pytest

from logstore import TopicPartition
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from replication.cluster.fetcher.fetcher import Fetcher
from replication.cluster.fetcher.fetcher_settings import FetcherSettings, FetchIdentity
from replication.planning import TruncationPlan, plan
from replication.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from tests.campaign import Campaign
from tests.replication.cluster.fetcher.drive import Cuts, assert_follows, catch_up, open_log
from tests.replication.cluster.fetcher.leader import Leader
from tests.replication.copies.planning.test_plan import Cluster
from tests.replication.partitions import write_partition

PAIRS = Campaign("fetcher: forked logs against their plan", full=2_000, share=60)
PARTITION = TopicPartition("t", 0)


def planned_for(leader: Path, follower: Path) -> TruncationPlan:
    logs = [RecoveredLog.load(PartitionDirectory.open(root / str(PARTITION))) for root in (leader, follower)]
    return plan(*logs)


@pytest.mark.parametrize("identity", [FetchIdentity(), FetchIdentity(5)], ids=["asking", "on fetch"])
def test_a_follower_cuts_where_the_plan_says(identity: FetchIdentity, tmp_path: Path) -> None:
    rng = random.Random(PAIRS.seed)
    most_rounds = tried = 0
    # A share may have none that takes several rounds: it goes on until one has come.
    while tried < PAIRS.count or (most_rounds < 2 and tried < PAIRS.full):
        tried += 1
        cluster = Cluster(rng, size=rng.randint(2, 4))
        cluster.run(steps=rng.randint(20, 120))
        roots = [tmp_path / f"{tried}-{side}" for side in ("leader", "follower")]
        for root, each in zip(roots, rng.sample(range(len(cluster.logs)), 2), strict=True):
            write_partition(root, cluster.logs[each], sorted(cluster.epochs[each].items()), name=str(PARTITION))
        planned = planned_for(*roots)
        follow(roots, cluster.epoch + 1, planned, identity)
        most_rounds = max(most_rounds, len(planned.rounds))
    assert most_rounds > 1
    PAIRS.report(tried, f"up to {most_rounds} rounds")


def follow(roots: list[Path], leader_epoch: int, planned: TruncationPlan, identity: FetchIdentity) -> None:
    with open_log(roots[0], PARTITION) as leader_log, open_log(roots[1], PARTITION) as log:
        leader_log.assign_epoch(leader_epoch, leader_log.log_end_offset)
        leader_log.update_high_watermark(leader_log.log_end_offset)
        leader, cuts = Leader(), Cuts()
        leader.lead(PARTITION, leader_log, leader_epoch)
        fetcher = Fetcher(FetcherSettings(identity=identity), observer=cuts)
        fetcher.follow(PARTITION, log, leader_epoch)
        end = log.log_end_offset
        asked = catch_up(fetcher, leader, PARTITION, to=leader_log.log_end_offset)
        assert_follows(log, leader_log, leader_log.log_end_offset)
        assert min([end, *(cut.offset for cut in cuts.cuts)]) == planned.truncate_to
        if identity.is_mirror:
            questions = [each.partitions[PARTITION] for each in asked if isinstance(each, OffsetForLeaderEpochRequest)]
            assert [question.leader_epoch for question in questions] == [
                each.requested_epoch for each in planned.rounds
            ]
