"""Random walks of a leader, beside Kafka's own Partition over its own log."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from shutil import rmtree

import pytest

from tests.campaign import Campaign
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.broker.partitions.random_walk import RandomWalk

CAMPAIGN = Campaign("led partitions beside Kafka's", full=10_000, share=150)
STEPS = 40


@pytest.fixture(scope="module")
def kafka(release: KafkaRelease) -> Iterator[JavaProgram]:
    with JavaProgram(release, "PartitionOracle") as oracle:
        yield oracle


def test_a_leader_decides_as_kafkas_does(kafka: JavaProgram, tmp_path: Path) -> None:
    for number in range(CAMPAIGN.count):
        seed = f"{CAMPAIGN.seed}:{number}"
        root, theirs = tmp_path, tmp_path / "theirs/orders-0"
        walk = RandomWalk(Random(seed), root, theirs)
        with walk.leader:
            for _ in range(STEPS):
                walk.step()
        answers = kafka.ask(*walk.commands, "close")[:-1]
        for index, (ours, theirs_told) in enumerate(zip(walk.answers, answers, strict=True)):
            assert not ours or ours == theirs_told, "\n".join([seed, *walk.commands[: index + 1]])
        rmtree(root / "orders-0")
        rmtree(theirs)
    CAMPAIGN.report(CAMPAIGN.count, beside=kafka.release)


class KafkasLeader:
    """A leader of Kafka's with two or three replicas, where ours goes another way: it may lose what it commits."""

    HIGH_WATERMARK, MAXIMAL_ISR = 3, 7

    def __init__(self, kafka: JavaProgram, root: Path) -> None:
        self.kafka = kafka
        self.commands = [
            "reset",
            "time 1700000000000",
            *(f"broker {each} {100 * each} active" for each in (1, 2, 3)),
        ]
        self.root = root

    def after(self, lead: str, *commands: str) -> list[str]:
        told = self.kafka.ask(*self.commands, f"lead {self.root / 'orders-0'} {lead}", *commands, "close")
        return told[-2].split(" ")


def test_kafkas_leader_forgets_whom_it_waits_for_over_metadata_that_say_nothing_new(
    kafka: JavaProgram, tmp_path: Path
) -> None:
    """Its controller may take 2 in yet; ours waits (TestMetadata)."""
    answer = KafkasLeader(kafka, tmp_path).after(
        "1 30000 0 0 1,2/1/5/10/0",
        "fetch 2 200 0 0 5",
        "metadata 1,2/1/5/10/0",
        "time 1700000030001",  # until then it waits for who has caught up lately
        "append 1 1",
    )
    assert answer[KafkasLeader.HIGH_WATERMARK] == "1"
    assert answer[KafkasLeader.MAXIMAL_ISR] == "1"


def test_kafkas_leader_counts_followers_as_before_over_an_epoch_that_it_missed(
    kafka: JavaProgram, tmp_path: Path
) -> None:
    """In epoch 6 another may have led, and 2 have cut its log; ours waits until it fetches (TestMetadata)."""
    answer = KafkasLeader(kafka, tmp_path).after(
        "1 30000 0 0 1,2,3/1,2,3/5/10/0", "append 3 1", "fetch 2 200 3 0 5", "metadata 1,2,3/1,2/7/12/0"
    )
    assert answer[KafkasLeader.HIGH_WATERMARK] == "3"
