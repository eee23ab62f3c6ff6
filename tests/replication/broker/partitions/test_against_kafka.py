"""Random walks of a leader, beside Kafka's own Partition over its own log."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from shutil import rmtree

import pytest

from tests.campaign import Campaign
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.replication.broker.partitions.random_walk import RandomWalk

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
