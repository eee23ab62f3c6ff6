"""AlterReplicaLogDirs passes on what is asked, and DescribeLogDirs tells of copies that are being made."""

from types import SimpleNamespace
from typing import Any

import pytest

from logstore import TopicPartition
from replication.cluster.broker.authorization.authorizer import Authorizer
from replication.cluster.broker.partitions.future_replica import FutureReplica
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.requests.log_dir_moves import VERSIONS, LogDirMoves
from replication.cluster.broker.requests.log_dirs import LogDirs
from replication.records.metadata.image import ClusterImage
from replication.wire.error_code import ErrorCode
from replication.wire.server.call import Call, Caller

ORDERS, OTHERS = TopicPartition("orders", 0), TopicPartition("orders", 1)


def call(version: int) -> Any:
    return Call(version, Caller("127.0.0.1"))


def topics(*partitions: TopicPartition) -> Any:
    return [SimpleNamespace(name=each.topic, partitions=[each.partition]) for each in partitions]


@pytest.mark.parametrize("version", VERSIONS)
def test_each_partition_is_answered_for_itself(version: int) -> None:
    asked = []

    def ask(partition: TopicPartition, path: str) -> ErrorCode:
        asked.append((partition, path))
        return ErrorCode.NONE if partition == ORDERS else ErrorCode.LOG_DIR_NOT_FOUND

    entries = [SimpleNamespace(path="/one", topics=topics(ORDERS)), SimpleNamespace(path="/two", topics=topics(OTHERS))]
    answer = LogDirMoves(ask).answer(SimpleNamespace(dirs=entries), call(version))
    (told,) = answer.results
    assert asked == [(ORDERS, "/one"), (OTHERS, "/two")]
    assert [(each.partition_index, each.error_code) for each in told.partitions] == [(0, 0), (1, 57)]
    assert told.topic_name == "orders"


def test_who_may_not_alter_the_cluster_moves_nothing() -> None:
    def ask(partition: TopicPartition, path: str) -> ErrorCode:
        raise AssertionError(f"{partition} is moved to {path}")

    entries = [SimpleNamespace(path="/one", topics=topics(ORDERS))]
    guarded = LogDirMoves(ask, Authorizer(ClusterImage).permissions)
    (told,) = guarded.answer(SimpleNamespace(dirs=entries), call(2)).results
    assert [each.error_code for each in told.partitions] == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]


@pytest.mark.parametrize("is_asked", [True, False])
def test_copies_are_told_of_with_how_far_they_are_behind(is_asked: bool) -> None:
    copies = [FutureReplica(ORDERS, "/two", 700, 12)]
    described = LogDirs(HostedPartitions(), ["/one", "/two"], futures=lambda: copies)
    named = [SimpleNamespace(topic="orders", partitions=[0 if is_asked else 1])]
    one, two = described.answer(SimpleNamespace(topics=named), call(4)).results
    assert (one.log_dir, one.topics) == ("/one", ())
    told = [
        (each.partition_index, each.partition_size, each.offset_lag, each.is_future_key)
        for topic in two.topics
        for each in topic.partitions
    ]
    assert told == ([(0, 700, 12, True)] if is_asked else [])
