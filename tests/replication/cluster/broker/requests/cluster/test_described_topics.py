"""Clients are told of brokers and topics as their listener shows them."""

from typing import Any
from uuid import UUID

import pytest

from replication.cluster.broker.requests.cluster.described_brokers import DescribedBrokers
from replication.cluster.broker.requests.cluster.described_topics import DescribedTopics
from replication.cluster.broker.requests.cluster.features import features_of
from replication.cluster.broker.requests.cluster.topic_pages import TopicPages
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.records.metadata.records import PartitionRecord, TopicRecord
from replication.wire.error_code import ErrorCode
from replication.wire.messages.describe_cluster import DescribeClusterRequest, DescribedCluster
from replication.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicPartitionsPage,
)
from replication.wire.messages.metadata import Broker, ClusterMetadata, MetadataRequest, TopicMetadata
from replication.wire.server.call import Call, Caller
from tests.replication.cluster.broker.requests.small_broker import (
    EPOCH,
    TOPIC,
    TOPIC_ID,
    SmallBroker,
    broker_record,
    call,
    partition_record,
)

NEWEST = 13


def ask(
    broker: SmallBroker, topics: tuple[str, ...] | None, version: int = NEWEST, listener: str = "PLAINTEXT", **more: Any
) -> ClusterMetadata:
    asked = Call(version, Caller("127.0.0.1", listener=listener))
    return DescribedTopics(broker.cluster).answer(MetadataRequest(topics=topics, **more), asked)


def test_all_topics_none_or_some_are_told(broker: SmallBroker) -> None:
    assert ask(broker, None).topics.keys() == ask(broker, (TOPIC, TOPIC)).topics.keys() == {TOPIC}
    assert ask(broker, ()).topics == {}
    told = ask(broker, None)
    assert told.cluster_id == "a-cluster"
    assert told.controller_id in told.brokers
    assert told.brokers[2] == Broker(2, "broker-2", 9092, "rack-2")
    topic = told.topics[TOPIC]
    assert (topic.error, topic.topic_id, topic.is_internal) == (ErrorCode.NONE, TOPIC_ID, False)
    assert {index: (each.leader_id, each.leader_epoch) for index, each in topic.partitions.items()} == {
        0: (1, EPOCH),
        1: (2, EPOCH),
    }
    assert topic.partitions[0].replicas == topic.partitions[0].isr == (1, 2)
    assert topic.partitions[0].offline == ()


def test_topics_are_found_by_id(broker: SmallBroker) -> None:
    told = ask(broker, (), topic_ids=(TOPIC_ID, UUID(int=99)))
    assert told.topics.keys() == {TOPIC}
    assert told.unnamed == (TopicMetadata(error=ErrorCode.UNKNOWN_TOPIC_ID, topic_id=UUID(int=99), partitions={}),)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("unknown", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("..", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a" * 250, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_a_topic_that_nobody_made_is_unknown_or_impossible(broker: SmallBroker, name: str, error: ErrorCode) -> None:
    assert ask(broker, (name,)).topics[name].error == error
    assert name not in broker.image.topics.by_name


def test_the_brokers_own_topics_are_flagged(broker: SmallBroker) -> None:
    broker.tell(TopicRecord(name="__consumer_offsets", topic_id=UUID(int=8)))
    assert ask(broker, None).topics["__consumer_offsets"].is_internal


def test_a_leader_without_the_listener_has_no_address(broker: SmallBroker) -> None:
    broker.tell(broker_record(1, PLAINTEXT=9091, INSIDE=9191))
    errors = {
        version: ask(broker, None, version, "INSIDE").topics[TOPIC].partitions[1].error for version in (0, 5, 6, NEWEST)
    }
    assert errors == {
        0: ErrorCode.LEADER_NOT_AVAILABLE,
        5: ErrorCode.LEADER_NOT_AVAILABLE,
        6: ErrorCode.LISTENER_NOT_FOUND,
        NEWEST: ErrorCode.LISTENER_NOT_FOUND,
    }
    told = ask(broker, None, listener="INSIDE")
    assert told.brokers == {1: Broker(1, "broker-1", 9191, "rack-1")}
    assert told.topics[TOPIC].partitions[0].offline == (2,)


def test_version_0_leaves_out_brokers_that_cannot_be_reached(broker: SmallBroker) -> None:
    broker.tell(broker_record(1, PLAINTEXT=9091, INSIDE=9191))
    told = ask(broker, None, 0, "INSIDE").topics[TOPIC].partitions[0]
    assert (told.error, told.replicas, told.isr) == (ErrorCode.REPLICA_NOT_AVAILABLE, (1,), (1,))


def test_nobody_leads(broker: SmallBroker) -> None:
    broker.tell(partition_record(1, -1))
    told = ask(broker, None).topics[TOPIC].partitions[1]
    assert (told.error, told.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)


def test_operations_are_told_to_who_asks(broker: SmallBroker) -> None:
    assert ask(broker, None).topics[TOPIC].authorized_operations == -(2**31)
    told = ask(broker, None, 8, include_topic_authorized_operations=True, include_cluster_authorized_operations=True)
    assert told.topics[TOPIC].authorized_operations == 0b110111111000
    assert told.authorized_operations == 0b1111110100000 & ~(1 << 6)


# --- DescribeCluster


def describe(broker: SmallBroker, version: int = 2, **more: Any) -> DescribedCluster:
    return DescribedBrokers(broker.cluster).answer(DescribeClusterRequest(**more), call(version))


def test_fenced_brokers_are_told_of_since_there_is_a_word_for_it(broker: SmallBroker) -> None:
    broker.tell(broker_record(2, fenced=True))
    assert {key: each.is_fenced for key, each in describe(broker).brokers.items()} == {1: False, 2: True}
    assert describe(broker, 1).brokers.keys() == describe(broker, include_fenced_brokers=False).brokers.keys() == {1}


@pytest.mark.parametrize(
    ("kind", "error"), [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (9, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)]
)
def test_a_broker_tells_of_no_controllers(broker: SmallBroker, kind: int, error: ErrorCode) -> None:
    assert describe(broker, endpoint_type=kind).error == error


# --- DescribeTopicPartitions


def page(broker: SmallBroker, **more: Any) -> TopicPartitionsPage:
    return TopicPages(broker.cluster).answer(DescribeTopicPartitionsRequest(**more), call(0))


def sizes(told: TopicPartitionsPage) -> dict[str, int]:
    return {name: len(topic.partitions) for name, topic in told.topics.items()}


def test_pages_follow_each_other_in_the_order_of_names(broker: SmallBroker) -> None:
    other = UUID(int=8)
    broker.tell(TopicRecord(name="alpha", topic_id=other), *(partition_record(n, 1, topic_id=other) for n in range(3)))
    first = page(broker, partition_limit=2)
    assert (sizes(first), first.next_cursor) == ({"alpha": 2}, Cursor("alpha", 2))
    second = page(broker, partition_limit=2, cursor=first.next_cursor)
    assert (sizes(second), second.next_cursor) == ({"alpha": 1, TOPIC: 1}, Cursor(TOPIC, 1))
    last = page(broker, partition_limit=2, cursor=second.next_cursor)
    assert (sizes(last), last.next_cursor) == ({TOPIC: 1}, None)
    assert sizes(page(broker)) == {"alpha": 3, TOPIC: 2}


def test_topics_are_described_by_name_and_unknown_ones_named(broker: SmallBroker) -> None:
    told = page(broker, topics=("unknown", TOPIC))
    assert sizes(told) == {TOPIC: 2, "unknown": 0}
    assert told.topics["unknown"].error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_eligible_leader_replicas_are_told(broker: SmallBroker) -> None:
    broker.tell(
        PartitionRecord(
            partition_id=1,
            topic_id=TOPIC_ID,
            replicas=(1, 2),
            isr=(),
            leader=-1,
            leader_epoch=EPOCH,
            partition_epoch=1,
            eligible_leader_replicas=(2,),
            last_known_elr=(1,),
        )
    )
    told = page(broker).topics[TOPIC].partitions[1]
    assert (told.error, told.leader_id, told.elr, told.last_known_elr) == (ErrorCode.NONE, -1, (2,), (1,))


# --- ApiVersions


def test_features_are_those_of_the_metadata(broker: SmallBroker) -> None:
    cluster = KnownCluster("a-cluster", 1, lambda: broker.image, lambda: 42)
    told = features_of(cluster)
    assert told.finalized == {"metadata.version": range(29, 30)}
    assert told.epoch == 42
    assert told.supported == told.finalized
    assert features_of(broker.cluster).epoch == -1


def test_a_page_has_the_partitions_of_a_topic_that_are_known_though_others_are_not(broker: SmallBroker) -> None:
    broker.tell(partition_record(5, 1), partition_record(9, 2))
    assert list(page(broker, topics=(TOPIC,)).topics[TOPIC].partitions) == [0, 1, 5, 9]
    first = page(broker, topics=(TOPIC,), partition_limit=3)
    assert list(first.topics[TOPIC].partitions) == [0, 1, 5]
    rest = page(broker, topics=(TOPIC,), partition_limit=3, cursor=first.next_cursor)
    assert list(rest.topics[TOPIC].partitions) == [9]
