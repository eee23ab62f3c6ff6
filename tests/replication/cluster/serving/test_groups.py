"""Consumers of groups read golden sets, commit what they have read, and begin where groups had committed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ConfluentPartition

from logstore import TopicPartition
from tests.data.make_consumer_offsets import COMMITTED, IN_TRANSACTIONS
from tests.data.replicas import LABELS
from tests.oracle.kafka import JavaProgram
from tests.replication.cluster.serving.clients import SECONDS
from tests.replication.cluster.serving.served_set import Served, brokers
from tests.replication.cluster.serving.subscribers import SUBSCRIBERS, Subscriber, in_java

OFFSETS = Path(__file__).parents[3] / "data" / "consumer-offsets"
JAVA = "java"
GROUPS = {**COMMITTED, **IN_TRANSACTIONS}
KEPT = ("billing", "report", "mail", "ledger")
"""Those of the groups that were not deleted or undone."""


@pytest.fixture(params=[label for label in LABELS if label != "healed"])
def resumed(request: pytest.FixtureRequest) -> Iterator[Served]:
    """Each golden set that has the kept groups' topics, beside the partition that keeps them; anew for each test."""
    with Served.open(request.param, [*brokers(request.param), OFFSETS], saved_groups=True) as opened:
        yield opened


@pytest.mark.parametrize("client", SUBSCRIBERS)
def test_a_group_reads_all_partitions_and_commits_their_ends(served: Served, client: str) -> None:
    ensure_all_is_read_and_committed(served, client, SUBSCRIBERS[client])


def test_a_group_in_java_reads_all_partitions_and_commits_their_ends(served: Served, java: JavaProgram) -> None:
    ensure_all_is_read_and_committed(served, JAVA, in_java(java))


@pytest.mark.parametrize("client", SUBSCRIBERS)
def test_groups_begin_where_they_had_committed(resumed: Served, client: str) -> None:
    ensure_groups_are_resumed(resumed, client, SUBSCRIBERS[client])


def test_groups_in_java_begin_where_they_had_committed(resumed: Served, java: JavaProgram) -> None:
    ensure_groups_are_resumed(resumed, JAVA, in_java(java))


def ensure_all_is_read_and_committed(served: Served, group: str, subscribe: Subscriber) -> None:
    """See that a group gets each record once, in order, and has committed what follows its last ones."""
    truth = {each: [seen.offset for seen in served.truth(each, committed=False)] for each in served.partitions}
    wanted = {partition: offsets for partition, offsets in truth.items() if offsets}
    assert subscribe(served.bootstrap, group, list(served.topics), sum(map(len, wanted.values()))) == wanted
    committed = committed_by(served.bootstrap, group, list(wanted))
    for partition, offsets in wanted.items():
        assert offsets[-1] < committed[partition] <= served.leaders(partition).log.log_end_offset


def ensure_groups_are_resumed(resumed: Served, client: str, subscribe: Subscriber) -> None:
    """See where groups begin that had committed in the cluster: from there on, or where that is gone, anew."""
    for group in KEPT:
        topic, offset = GROUPS[group]
        partition = TopicPartition(topic, 0)
        assert committed_by(resumed.bootstrap, group, [partition]) == {partition: offset}
        # Of these clients the one in Java alone asks whether what stands with an epoch still holds.
        with_epoch = group in COMMITTED and client == JAVA
        first = first_of(resumed, partition, offset, 0 if with_epoch else None)
        assert subscribe(resumed.bootstrap, group, [topic], 1)[partition][0] == first, (group, resumed.label)


def first_of(resumed: Served, partition: TopicPartition, offset: int, epoch: int | None) -> int:
    """Return the first offset that is read of what was committed with an epoch, or without."""
    dumped = resumed.dumped[partition]
    if epoch is not None and offset > dumped.end_of(epoch):
        return dumped.end_of(epoch)
    return offset if offset <= dumped.end else resumed.truth(partition, committed=False)[0].offset


def committed_by(bootstrap: str, group: str, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    """Return what a group has committed, by another client than its own."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        told = consumer.committed([ConfluentPartition(*each) for each in partitions], SECONDS)
        return {TopicPartition(each.topic, each.partition): each.offset for each in told}
    finally:
        consumer.close()
