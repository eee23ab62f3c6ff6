"""Plans and advice agree with what Kafka's own protocol, and Kafka itself, did to real replicas."""

from collections.abc import Iterator
from typing import Any

import pytest

from epoch import TruncationProtocol
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from replication.planning import advise_replicas, open_replicas, plan
from tests.data.replicas import LABELS, cross, replicas


def pairs(label: str) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    for partition, document in cross(label)["partitions"].items():
        for pair, truth in document["pairs"].items():
            leader, follower = pair.split("->")
            yield partition, leader, follower, truth


def load(label: str, broker: str, partition: str) -> RecoveredLog:
    root = OfflineLogDirectory.open(replicas(label) / broker)
    return RecoveredLog.load(
        PartitionDirectory.open(root.path / partition, root=root.path, checkpoints=root.checkpoints)
    )


@pytest.mark.parametrize("label", LABELS)
def test_a_loaded_log_ends_where_kafkas_does_with_the_same_epochs(label: str) -> None:
    for partition, leader, follower, truth in pairs(label):
        assert load(label, leader, partition).log_end_offset == truth["leader_leo"]
        log = load(label, follower, partition)
        assert log.log_end_offset == truth["follower_leo"]
        assert [list(entry) for entry in log.history.entries] == truth["follower_epochs_after_load"]


@pytest.mark.parametrize("label", LABELS)
def test_plan_agrees_with_kafka(label: str) -> None:
    for partition, leader, follower, truth in pairs(label):
        planned = plan(load(label, leader, partition), load(label, follower, partition))
        document = planned.as_json()
        assert document["relation"] == truth["classification"]
        assert document["truncate_to"] == truth["truncation_offset"]
        assert document["records_lost"] == truth["records_lost"]
        assert document["bytes_lost"] == truth["bytes_lost"]
        assert document["log_end_offset"] == truth["follower_leo"]
        assert document["rounds"] == [
            {name: answered[name] for name in ("requested_epoch", "answer_epoch", "answer_end_offset")}
            for answered in truth["offset_for_leader_epoch"]["rounds"]
        ]


@pytest.mark.parametrize("label", LABELS)
def test_advice_agrees_with_kafka(label: str) -> None:
    advice = {
        f"{each.topic}-{each.partition}": each
        for each in advise_replicas(open_replicas(sorted(replicas(label).iterdir())))
    }
    for partition, leader, follower, truth in pairs(label):
        standing = next(each for each in advice[partition].replicas if each.replica == leader)
        loss = standing.lost[follower]
        assert (loss.truncate_to, loss.records_lost, loss.bytes_lost) == (
            truth["truncation_offset"],
            truth["records_lost"],
            truth["bytes_lost"],
        )
        assert standing.end_offset == truth["leader_leo"]


@pytest.mark.parametrize(("label", "ends"), [("diverged", (420, 377)), ("diverged-4.4.0", (42, 38))])
def test_the_replica_with_the_latest_epoch_is_recommended(label: str, ends: tuple[int, int]) -> None:
    advice = advise_replicas(open_replicas(sorted(replicas(label).iterdir())))
    forked = {each.topic: each for each in advice if each.topic in {"diverge", "hwloss"}}
    assert {each.recommended for each in forked.values()} == {"broker-2"}
    assert [(each.replica, each.last_epoch, each.end_offset) for each in forked["diverge"].replicas] == [
        ("broker-1", 4, ends[0]),
        ("broker-2", 5, ends[1]),
    ]


@pytest.mark.parametrize("partition", ["diverge-0", "hwloss-0"])
@pytest.mark.parametrize(
    ("diverged", "leads", "follows"),
    [("diverged", "broker-1", "broker-2"), ("diverged-4.4.0", "broker-2", "broker-1")],
    ids=["4.3.1", "4.4.0"],
)
def test_truncating_as_planned_leads_to_the_file_that_kafka_left(
    diverged: str, leads: str, follows: str, partition: str
) -> None:
    leader, follower = load(diverged, leads, partition), load(diverged, follows, partition)
    planned = plan(leader, follower)
    leaders_log = leader.segments[0].log_path.read_bytes()
    followers_log = follower.segments[0].log_path.read_bytes()
    kept = followers_log[: len(followers_log) - planned.bytes_lost]
    reconciled = replicas(diverged.replace("diverged", "reconciled"))
    healed = (reconciled / follows / partition / "00000000000000000000.log").read_bytes()
    assert len(kept) < len(followers_log)
    assert kept == leaders_log[: len(kept)]
    assert kept + leaders_log[len(kept) :] == healed


def test_the_high_watermark_protocol_cuts_elsewhere() -> None:
    leader, follower = load("diverged", "broker-2", "diverge-0"), load("diverged", "broker-1", "diverge-0")
    by_high_watermark = plan(leader, follower, TruncationProtocol.HIGH_WATERMARK)
    assert by_high_watermark.rounds == ()
    assert by_high_watermark.truncate_to == follower.high_watermark
    assert by_high_watermark.relation.value == "forked"
