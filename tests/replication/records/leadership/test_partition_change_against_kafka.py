"""Changes of random partitions, beside those that Kafka's own PartitionChangeBuilder makes of them."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from replication.records.leadership.partition_change import Election, partition_change
from replication.records.metadata.records import UNASSIGNED_DIRECTORY
from tests.campaign import Campaign
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.controller.cases.partition_change import partition_of, rules_of, target_of
from tests.replication.records.leadership.partition_changes import question

CAMPAIGN = Campaign("partition changes beside Kafka's", full=200_000, share=4_000)
AT_ONCE = 20
SETS = ("eligible_leader_replicas", "last_known_elr")


@pytest.fixture(scope="module")
def kafka(release: KafkaRelease) -> Iterator[JavaProgram]:
    with JavaProgram(release, "PartitionChangeOracle") as oracle:
        yield oracle


def test_a_change_is_the_one_that_kafka_makes(kafka: JavaProgram) -> None:
    random = Random(CAMPAIGN.seed)
    for _ in range(CAMPAIGN.count // AT_ONCE):
        questions = [question(random) for _ in range(AT_ONCE)]
        for asked, told in zip(questions, kafka.ask(*map(json.dumps, questions)), strict=True):
            assert ours(asked) == comparable(json.loads(told) or {}), json.dumps(asked)
    CAMPAIGN.report(CAMPAIGN.count, beside=kafka.release)


def ours(asked: dict[str, Any]) -> dict[str, Any]:
    changed = partition_change(
        partition_of(asked["partition"]),
        asked["active_brokers"].__contains__,
        target=target_of(asked["target"]),
        election=Election[asked["election"]],
        rules=rules_of(asked),
        min_isr=asked["min_isr"],
        default_directory=lambda _: UNASSIGNED_DIRECTORY,
    )
    return comparable({name: value for name, value in changed.items() if name != "directories"})


def comparable(changed: dict[str, Any]) -> dict[str, Any]:
    assert isinstance(changed, dict), changed
    lists = {name: list(value) if isinstance(value, list | tuple) else value for name, value in changed.items()}
    return {name: sorted(value) if name in SETS else value for name, value in lists.items()}
