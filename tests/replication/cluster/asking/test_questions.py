"""What is asked of a cluster about partitions, and what its answers are taken for."""

from typing import Any

import pytest

from logstore import TopicPartition
from replication.cluster.asking.errors import NotAnsweredError
from replication.cluster.asking.questions import LivingCluster, ask_about
from replication.wire.error_code import ErrorCode
from replication.wire.errors import UnsupportedVersionError
from replication.wire.messages.describe_configs import DescribeConfigsRequest
from replication.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicPartitionsPage,
)
from tests.replication.cluster.operations.told_cluster import ToldCluster, partition, topic

ORDERS = topic(partition(1, (1, 2, 3), (1, 2), leader_epoch=4, elr=(3,)), partition(-1, (2, 3), (), leader_epoch=9))
SETTINGS = {
    "unclean.leader.election.enable": "false",
    "cleanup.policy": "compact,delete",
    "remote.storage.enable": "true",
}
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def told(**more: Any) -> ToldCluster:
    return ToldCluster({"orders": ORDERS, "others": topic(partition(2, (2,), (2,)))}, settings=SETTINGS, **more)


def asked(cluster: ToldCluster, *partitions: TopicPartition) -> LivingCluster:
    questions = ask_about(partitions)
    request = next(questions)
    while True:
        try:
            answer = cluster.answer(request)
        except UnsupportedVersionError as error:
            request = questions.throw(error)
            continue
        try:
            request = questions.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def test_leader_replicas_and_settings_are_what_the_cluster_says() -> None:
    cluster = asked(told(min_isr={"orders": "2"}), FIRST, SECOND)
    first, second = cluster.partitions[FIRST], cluster.partitions[SECOND]
    assert cluster.cluster_id == "told"
    assert (first.leader, first.leader_epoch, first.replicas, first.isr, first.elr) == (1, 4, (1, 2, 3), (1, 2), (3,))
    assert (second.leader, second.leader_epoch, second.isr) == (None, 9, ())
    assert (first.min_isr, first.unclean_allowed, first.is_compacted, first.is_tiered) == (2, False, True, True)
    assert (first.high_watermark, first.log_start_offset) == (None, None)


def test_nothing_is_asked_about_other_topics() -> None:
    cluster = told()
    asked(cluster, FIRST)
    about = [
        request.topics
        for request in cluster.asked
        if isinstance(request, (DescribeTopicPartitionsRequest, DescribeConfigsRequest))
    ]
    assert about == [("orders",), ("orders",)]


def test_partitions_that_there_are_none_of_are_left_out() -> None:
    gone, beyond = TopicPartition("gone", 0), TopicPartition("orders", 7)
    assert asked(told(), FIRST, gone, beyond).partitions.keys() == {FIRST}


def test_brokers_that_do_not_know_eligible_replicas_are_asked_for_metadata() -> None:
    cluster = asked(told(unsupported=frozenset({DescribeTopicPartitionsRequest})), FIRST)
    assert (cluster.partitions[FIRST].isr, cluster.partitions[FIRST].elr) == ((1, 2), None)


def test_settings_that_are_refused_are_not_known_and_the_rest_is() -> None:
    refused = told(config_errors={"orders": ErrorCode.TOPIC_AUTHORIZATION_FAILED})
    cluster = asked(refused, FIRST)
    first = cluster.partitions[FIRST]
    assert (first.min_isr, first.unclean_allowed, first.is_compacted, first.is_tiered) == (None, None, None, None)
    assert first.leader == 1
    assert "orders" in cluster.not_told[0]
    assert "TOPIC_AUTHORIZATION_FAILED" in cluster.not_told[0]


def test_a_topic_that_may_not_be_described_is_refused_by_name() -> None:
    cluster = ToldCluster({"orders": topic(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)})
    cluster.answer = lambda request, answer=cluster.answer: (  # type: ignore[method-assign, misc]
        TopicPartitionsPage(topics=cluster.topics, next_cursor=None)
        if isinstance(request, DescribeTopicPartitionsRequest)
        else answer(request)
    )
    with pytest.raises(NotAnsweredError, match="orders"):
        asked(cluster, FIRST)


def test_all_pages_are_asked_for() -> None:
    assert asked(told(page_size=1), FIRST, SECOND).partitions.keys() == {FIRST, SECOND}


def test_pages_that_do_not_get_on_end_with_an_error() -> None:
    cluster = told()
    cluster.answer = lambda request, answer=cluster.answer: (  # type: ignore[method-assign, misc]
        TopicPartitionsPage(topics={"orders": ORDERS}, next_cursor=Cursor("orders", 0))
        if isinstance(request, DescribeTopicPartitionsRequest)
        else answer(request)
    )
    with pytest.raises(NotAnsweredError, match="another broker"):
        asked(cluster, FIRST)
