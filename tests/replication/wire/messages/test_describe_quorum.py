"""DescribeQuorum, in every version."""

import random
from dataclasses import replace
from typing import Any

import pytest

from replication.wire.encoding.kio_messages import response_classes
from replication.wire.error_code import ErrorCode
from replication.wire.errors import MalformedResponseError
from replication.wire.messages import describe_quorum
from replication.wire.messages.describe_quorum import (
    API_KEY,
    METADATA_TOPIC,
    VERSIONS,
    DescribedQuorum,
    DescribeQuorumRequest,
    QuorumListener,
    QuorumReplica,
)
from tests.campaign import run_seed
from tests.replication.wire.by_kio import received, sent_request
from tests.replication.wire.instances import instance


def answered(version: int, rng: random.Random, *, partitions: int = 1) -> Any:
    """An answer about so many partitions of the metadata log, without an error in front."""
    classes = response_classes(API_KEY, version)
    told = tuple(replace(instance(classes.PartitionData, rng), partition_index=index) for index in range(partitions))
    topic = classes.TopicData(topic_name=METADATA_TOPIC, partitions=told)
    return replace(instance(classes.DescribeQuorumResponse, rng), error_code=ErrorCode.NONE, topics=(topic,))


def decoded(answer: Any) -> DescribedQuorum:
    return received(describe_quorum.RESPONSE, answer)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_metadata_log_alone_is_asked_about(version: int) -> None:
    sent = sent_request(describe_quorum.REQUEST, DescribeQuorumRequest(), 55, version)
    asked = [(topic.topic_name, each.partition_index) for topic in sent.topics for each in topic.partitions]
    assert asked == [("__cluster_metadata", 0)]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_leader_answers_is_told(version: int) -> None:
    rng = random.Random(f"{run_seed()} {version}")
    for _ in range(20):
        answer = answered(version, rng)
        told = answer.topics[0].partitions[0]
        assert decoded(answer) == DescribedQuorum(
            error=told.error_code,
            error_message=told.error_message if version >= 2 else None,
            leader_id=told.leader_id,
            leader_epoch=told.leader_epoch,
            high_watermark=told.high_watermark,
            voters=tuple(_replica(each, version) for each in told.current_voters),
            observers=tuple(_replica(each, version) for each in told.observers),
            listeners=_listeners(answer) if version >= 2 else {},
        )


def _replica(told: Any, version: int) -> QuorumReplica:
    return QuorumReplica(
        id=told.replica_id,
        log_end_offset=told.log_end_offset,
        directory_id=told.replica_directory_id if version >= 2 else None,
        last_fetch_ms=told.last_fetch_timestamp if version >= 1 else -1,
        last_caught_up_ms=told.last_caught_up_timestamp if version >= 1 else -1,
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_an_error_in_front_is_told_whatever_stands_behind_it(version: int) -> None:
    classes = response_classes(API_KEY, version)
    answer = replace(
        instance(classes.DescribeQuorumResponse, random.Random(1)), error_code=ErrorCode.REQUEST_TIMED_OUT, topics=()
    )
    told = decoded(answer)
    assert told == DescribedQuorum(
        error=ErrorCode.REQUEST_TIMED_OUT, error_message=answer.error_message if version >= 2 else None
    )


@pytest.mark.parametrize("partitions", [0, 2])
def test_an_answer_about_none_or_several_partitions_is_malformed(partitions: int) -> None:
    with pytest.raises(
        MalformedResponseError, match=f"^{partitions} partitions are answered, but only __cluster_metadata-0"
    ):
        decoded(answered(2, random.Random(1), partitions=partitions))


def _listeners(answer: Any) -> dict[int, tuple[QuorumListener, ...]]:
    return {
        node.node_id: tuple(QuorumListener(each.name, each.host, each.port) for each in node.listeners)
        for node in answer.nodes
    }
