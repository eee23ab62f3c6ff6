"""DescribeTopicPartitions: its one version."""

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from replication.wire.encoding.kio_messages import response_classes
from replication.wire.messages import describe_topic_partitions
from replication.wire.messages.describe_topic_partitions import (
    API_KEY,
    Cursor,
    DescribeTopicPartitionsRequest,
)
from replication.wire.messages.metadata import PartitionMetadata
from tests.campaign import run_seed
from tests.replication.wire.by_kio import received, sent_request
from tests.replication.wire.instances import instance
from tests.replication.wire.strategies import TOPIC_IDS

names = st.sampled_from(sorted(TOPIC_IDS))
requests = st.builds(
    DescribeTopicPartitionsRequest,
    topics=st.lists(names, unique=True).map(tuple),
    cursor=st.none() | st.builds(Cursor, names, st.integers(0, 2**31 - 1)),
    partition_limit=st.integers(1, 2**31 - 1),
)


@given(requests)
def test_kio_reads_which_topics_are_asked_for_and_where_the_page_begins(
    request: DescribeTopicPartitionsRequest,
) -> None:
    sent = sent_request(describe_topic_partitions.REQUEST, request, 75, 0)
    assert tuple(topic.name for topic in sent.topics) == request.topics
    assert sent.response_partition_limit == request.partition_limit
    cursor = sent.cursor and Cursor(sent.cursor.topic_name, sent.cursor.partition_index)
    assert cursor == request.cursor


def test_what_the_broker_answers_is_told() -> None:
    rng = random.Random(run_seed())
    kind = response_classes(API_KEY, 0).DescribeTopicPartitionsResponse
    for _ in range(40):
        answer = instance(kind, rng, items=3)
        page = received(describe_topic_partitions.RESPONSE, answer)
        cursor = answer.next_cursor
        assert page.next_cursor == (cursor and (cursor.topic_name, cursor.partition_index))
        topics = {topic.name: topic for topic in answer.topics if topic.name is not None}
        assert page.topics.keys() == topics.keys()
        for name, topic in topics.items():
            told = page.topics[name]
            assert (told.error, told.topic_id, told.is_internal) == (
                topic.error_code,
                topic.topic_id,
                topic.is_internal,
            )
            assert told.partitions == {each.partition_index: _partition(each) for each in topic.partitions}


def _partition(told: Any) -> PartitionMetadata:
    return PartitionMetadata(
        error=told.error_code,
        leader_id=told.leader_id,
        leader_epoch=told.leader_epoch,
        replicas=told.replica_nodes,
        isr=told.isr_nodes,
        offline=told.offline_replicas,
        elr=told.eligible_leader_replicas,
        last_known_elr=told.last_known_elr,
    )
