"""Groups of a cluster of several brokers: one broker answers for each, and another when that is gone."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from replication.cluster.node.coordinators.other_coordinators import GROUPS, coordinating_partition
from replication.testing import Cluster
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.broker.authorization.random_questions import kio_request

NAMES = [f"group-{number}" for number in range(12)]
FIND, DESCRIBE, FETCH = 10, 15, 9
SECONDS = 30


@pytest.fixture
def cluster(caplog: pytest.LogCaptureFixture) -> Iterator[Cluster]:
    caplog.set_level(logging.WARNING)
    with Cluster(3) as cluster:
        cluster.create_topic("orders", replication_factor=3)
        find(cluster, 1, NAMES[0])
        for number in cluster.image.topics.by_name[GROUPS].partitions:
            cluster.wait_for_leader(GROUPS, number)
        yield cluster


def ask(cluster: Cluster, broker: int, key: int, version: int, content: dict[str, Any]) -> Any:
    with Connection.open(cluster.address(broker)) as connection:
        return connection.ask(kio_request(key, version, content))


def find(cluster: Cluster, broker: int, group: str) -> int:
    found: int = ask(cluster, broker, FIND, 2, {"key": group, "key_type": 0}).node_id
    return found


def described(cluster: Cluster, broker: int, group: str) -> ErrorCode:
    told = ask(cluster, broker, DESCRIBE, 5, {"groups": (group,), "include_authorized_operations": False})
    return ErrorCode(told.groups[0].error_code)


def by_rule(cluster: Cluster, group: str) -> int:
    return cluster.leader(GROUPS, coordinating_partition(group, len(cluster.image.topics.by_name[GROUPS].partitions)))


def consumer(cluster: Cluster, group: str) -> Consumer:
    return Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group, "auto.offset.reset": "earliest"})


def commit(cluster: Cluster, group: str, offset: int) -> None:
    committing = consumer(cluster, group)
    committing.commit(offsets=[TopicPartition("orders", 0, offset)], asynchronous=False)
    committing.close()


def committed(cluster: Cluster, group: str) -> int:
    reading = consumer(cluster, group)
    offset: int = reading.committed([TopicPartition("orders", 0)], timeout=SECONDS)[0].offset
    reading.close()
    return offset


def test_all_brokers_name_the_same_one_for_a_group_and_it_alone_answers(cluster: Cluster) -> None:
    cluster.wait_until(lambda: all(find(cluster, each, NAMES[0]) != -1 for each in (1, 2, 3)), "all know of the topic")
    for group in NAMES:
        (named,) = {find(cluster, broker, group) for broker in (1, 2, 3)}
        assert named == by_rule(cluster, group)
        for broker in (1, 2, 3):
            expected = ErrorCode.NONE if broker == named else ErrorCode.NOT_COORDINATOR
            assert described(cluster, broker, group) is expected
    assert len({by_rule(cluster, group) for group in NAMES}) > 1


def test_when_it_dies_another_answers_and_says_that_commits_are_gone(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    commit(cluster, "readers", 5)
    assert committed(cluster, "readers") == 5
    before = by_rule(cluster, "readers")
    cluster.kill(before)
    cluster.wait_until(lambda: by_rule(cluster, "readers") not in {before, -1}, "another coordinates")
    assert committed(cluster, "readers") < 0
    assert "had committed at another broker" in caplog.text
    commit(cluster, "readers", 7)
    assert committed(cluster, "readers") == 7
