"""Metadata, in every version."""

import random
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.wire.encoding.kio_messages import response_classes
from replication.wire.messages import metadata
from replication.wire.messages.metadata import (
    VERSIONS,
    Broker,
    MetadataRequest,
    PartitionMetadata,
)
from tests.campaign import run_seed
from tests.replication.wire.by_kio import received, sent_request
from tests.replication.wire.instances import instance
from tests.replication.wire.strategies import metadata_requests


@given(metadata_requests, st.sampled_from(VERSIONS))
def test_kio_reads_which_topics_are_asked_for_and_that_none_is_created(request: MetadataRequest, version: int) -> None:
    sent = sent_request(metadata.REQUEST, request, 3, version)
    assert (None if sent.topics is None else tuple(topic.name for topic in sent.topics)) == request.topics
    assert sent.allow_auto_topic_creation is False


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_broker_answers_is_told(version: int) -> None:
    rng = random.Random(f"{run_seed()} {version}")
    kind = response_classes(3, version).MetadataResponse
    for _ in range(20):
        answer = instance(kind, rng, items=3)
        cluster = received(metadata.RESPONSE, answer)
        assert (cluster.cluster_id, cluster.controller_id) == (answer.cluster_id, answer.controller_id)
        assert timedelta(milliseconds=cluster.throttle_time_ms) == answer.throttle_time
        assert cluster.brokers == {
            told.node_id: Broker(told.node_id, told.host, told.port, told.rack) for told in answer.brokers
        }
        topics = {topic.name: topic for topic in answer.topics if topic.name is not None}
        assert cluster.topics.keys() == topics.keys()
        for name, topic in topics.items():
            told = cluster.topics[name]
            assert (told.error, told.is_internal) == (topic.error_code, topic.is_internal)
            assert told.topic_id == (topic.topic_id if version >= 10 else None)
            assert told.partitions == {part.partition_index: _partition(part, version) for part in topic.partitions}
        if version >= 13:
            assert cluster.error == answer.error_code


def _partition(told: Any, version: int) -> PartitionMetadata:
    return PartitionMetadata(
        told.error_code,
        told.leader_id,
        told.leader_epoch if version >= 7 else -1,
        told.replica_nodes,
        told.isr_nodes,
        told.offline_replicas if version >= 5 else (),
    )
