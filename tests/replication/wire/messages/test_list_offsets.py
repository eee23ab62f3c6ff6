"""ListOffsets, in every version."""

import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.wire.encoding.kio_messages import response_classes
from replication.wire.messages import list_offsets
from replication.wire.messages.list_offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    MAX_TIMESTAMP,
    VERSIONS,
    ListedOffset,
    ListOffsetsRequest,
    OffsetQuestion,
    list_offsets_versions,
)
from tests.campaign import run_seed
from tests.replication.wire.by_kio import received, sent_request
from tests.replication.wire.instances import instance
from tests.replication.wire.strategies import list_offsets_requests


@given(list_offsets_requests, st.sampled_from(VERSIONS))
def test_kio_reads_what_was_asked(request: ListOffsetsRequest, version: int) -> None:
    sent = sent_request(list_offsets.REQUEST, request, 2, version)
    asked = {
        TopicPartition(topic.name, told.partition_index): OffsetQuestion(
            told.timestamp, told.current_leader_epoch if version >= 4 else -1
        )
        for topic in sent.topics
        for told in topic.partitions
    }
    known = {
        partition: question if version >= 4 else OffsetQuestion(question.timestamp)
        for partition, question in request.partitions.items()
    }
    assert asked == known
    assert sent.replica_id == request.replica_id
    if version >= 2:
        assert sent.isolation_level == request.isolation_level


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_leader_answers_is_told(version: int) -> None:
    rng = random.Random(f"{run_seed()} {version}")
    kind = response_classes(2, version).ListOffsetsResponse
    for _ in range(20):
        answer = instance(kind, rng, items=3)
        response = received(list_offsets.RESPONSE, answer)
        assert response.partitions == {
            TopicPartition(topic.name, told.partition_index): ListedOffset(
                told.error_code, told.offset, told.leader_epoch if version >= 4 else -1, told.timestamp
            )
            for topic in answer.topics
            for told in topic.partitions
        }
        if version >= 2:
            assert timedelta(milliseconds=response.throttle_time_ms) == answer.throttle_time


@pytest.mark.parametrize(
    ("timestamps", "first"),
    [((), 1), ((LATEST, EARLIEST, 0), 1), ((LATEST, MAX_TIMESTAMP), 7), ((EARLIEST_LOCAL, MAX_TIMESTAMP), 8)],
)
def test_what_stands_for_a_time_is_asked_only_of_who_knows_it(timestamps: tuple[int, ...], first: int) -> None:
    asked = {TopicPartition("t", index): OffsetQuestion(timestamp) for index, timestamp in enumerate(timestamps)}
    assert list_offsets_versions(ListOffsetsRequest(partitions=asked)) == range(first, 12)
