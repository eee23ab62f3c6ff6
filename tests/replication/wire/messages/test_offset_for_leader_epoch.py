"""OffsetForLeaderEpoch, in every version, two of which are not kio's."""

import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch import EndOffset
from logstore import TopicPartition
from replication.wire.encoding.kio_messages import response_classes
from replication.wire.error_code import ErrorCode
from replication.wire.messages import offset_for_leader_epoch
from replication.wire.messages.offset_for_leader_epoch import (
    VERSIONS,
    EpochAnswer,
    EpochQuestion,
    OffsetForLeaderEpochRequest,
)
from tests.campaign import run_seed
from tests.replication.wire.by_kio import received, sent_request
from tests.replication.wire.instances import instance
from tests.replication.wire.strategies import epoch_requests

KIOS = VERSIONS[2:]
"""The versions that kio has."""


@given(epoch_requests, st.sampled_from(KIOS))
def test_what_was_asked_can_be_read(request: OffsetForLeaderEpochRequest, version: int) -> None:
    sent = sent_request(offset_for_leader_epoch.REQUEST, request, 23, version)
    asked = {
        TopicPartition(topic.topic, told.partition): EpochQuestion(
            told.current_leader_epoch if version >= 2 else -1, told.leader_epoch
        )
        for topic in sent.topics
        for told in topic.partitions
    }
    known = {
        partition: question if version >= 2 else EpochQuestion(-1, question.leader_epoch)
        for partition, question in request.partitions.items()
    }
    assert asked == known
    if version >= 3:
        assert sent.replica_id == request.replica_id


@pytest.mark.parametrize("version", KIOS)
def test_what_the_leader_answers_is_told(version: int) -> None:
    rng = random.Random(f"{run_seed()} {version}")
    kind = response_classes(23, version).OffsetForLeaderEpochResponse
    for _ in range(20):
        answer = instance(kind, rng, items=3)
        response = received(offset_for_leader_epoch.RESPONSE, answer)
        assert response.partitions == {
            TopicPartition(topic.topic, told.partition): EpochAnswer(
                told.error_code, EndOffset(told.leader_epoch if version >= 1 else -1, told.end_offset)
            )
            for topic in answer.topics
            for told in topic.partitions
        }
        if version >= 2:
            assert timedelta(milliseconds=response.throttle_time_ms) == answer.throttle_time


@pytest.mark.parametrize("version", [0, 1])
def test_the_oldest_requests_are_these_bytes(version: int) -> None:
    request = OffsetForLeaderEpochRequest(partitions={TopicPartition("t", 2): EpochQuestion(9, 5)})
    message = bytes.fromhex("00000001 0001 74 00000001 00000002 00000005")
    assert offset_for_leader_epoch.REQUEST.write(request, version) == message


@pytest.mark.parametrize(
    ("version", "epoch", "message"),
    [
        (0, -1, "00000001 0001 74 00000001 0000 00000002 0000000000000028"),
        (1, 4, "00000001 0001 74 00000001 0000 00000002 00000004 0000000000000028"),
    ],
)
def test_the_oldest_answers_are_these_bytes(version: int, epoch: int, message: str) -> None:
    response = offset_for_leader_epoch.RESPONSE.read(bytes.fromhex(message), version)
    assert offset_for_leader_epoch.RESPONSE.write(response, version) == bytes.fromhex(message)
    assert response.partitions == {TopicPartition("t", 2): EpochAnswer(ErrorCode.NONE, EndOffset(epoch, 40))}
