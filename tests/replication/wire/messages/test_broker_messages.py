"""What brokers ask the controller beside registration and heartbeat: ISRs, directories and ids, in every version."""

import random
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.wire.encoding.kio_messages import response_class
from replication.wire.messages import allocate_producer_ids, alter_partition, assign_replicas_to_dirs
from replication.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from replication.wire.messages.alter_partition import AlterPartitionRequest, InSyncReplica, IsrAnswer
from replication.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, PlacementAnswer
from tests.campaign import run_seed
from tests.replication.wire.by_kio import received, sent_request, sent_response
from tests.replication.wire.instances import instance
from tests.replication.wire.strategies import (
    allocate_producer_ids_requests,
    alter_partition_requests,
    assign_replicas_requests,
)

NO_ID = "00000000-0000-0000-0000-000000000000"


def answers(api_key: int, version: int) -> Any:
    rng = random.Random(f"{run_seed()} {api_key} {version}")
    return (instance(response_class(api_key, version), rng, items=3) for _ in range(20))


def same(theirs: object, ours: object) -> bool:
    return str(theirs or NO_ID) == str(ours)


@given(alter_partition_requests, st.sampled_from(alter_partition.VERSIONS))
def test_the_isrs_that_a_leader_wants_are_asked_for(request: AlterPartitionRequest, version: int) -> None:
    sent = sent_request(alter_partition.REQUEST, request, 56, version)
    assert (sent.broker_id, sent.broker_epoch) == (request.broker_id, request.broker_epoch)
    said = [(topic.topic_id, each) for topic in sent.topics for each in topic.partitions]
    for (topic_id, each), change in zip(said, request.changes, strict=True):
        assert same(topic_id, change.topic_id)
        assert (each.partition_index, each.leader_epoch, each.partition_epoch, each.leader_recovery_state) == (
            change.partition,
            change.leader_epoch,
            change.partition_epoch,
            change.leader_recovery_state,
        )
        if version >= 3:
            told = [InSyncReplica(replica.broker_id, replica.broker_epoch) for replica in each.new_isr_with_epochs]
            assert tuple(told) == change.isr
        else:
            assert each.new_isr == change.broker_ids


@pytest.mark.parametrize("version", alter_partition.VERSIONS)
def test_what_became_of_isrs_is_told(version: int) -> None:
    for answer in answers(56, version):
        told = received(alter_partition.RESPONSE, answer)
        assert told.error == answer.error_code
        assert timedelta(milliseconds=told.throttle_time_ms) == answer.throttle_time
        known = [(topic.topic_id, each) for topic in answer.topics for each in topic.partitions]
        for (topic_id, each), ours in zip(known, told.answers, strict=True):
            assert same(topic_id, ours.topic_id)
            assert ours == IsrAnswer(
                ours.topic_id,
                each.partition_index,
                each.error_code,
                each.leader_id,
                each.leader_epoch,
                each.isr,
                each.leader_recovery_state,
                each.partition_epoch,
            )
        again = sent_response(alter_partition.RESPONSE, told, 56, version)
        assert received(alter_partition.RESPONSE, again) == told


@given(assign_replicas_requests)
def test_where_replicas_lie_is_said(request: AssignReplicasToDirsRequest) -> None:
    sent = sent_request(assign_replicas_to_dirs.REQUEST, request, 73, 0)
    said = [
        (directory.id_, topic.topic_id, each.partition_index)
        for directory in sent.directories
        for topic in directory.topics
        for each in topic.partitions
    ]
    for theirs, ours in zip(said, request.replicas, strict=True):
        assert all(map(same, theirs[:2], ours[:2]))
        assert theirs[2] == ours.partition


def test_what_became_of_places_is_told() -> None:
    for answer in answers(73, 0):
        told = received(assign_replicas_to_dirs.RESPONSE, answer)
        assert told.error == answer.error_code
        known = [
            (directory.id_, topic.topic_id, each)
            for directory in answer.directories
            for topic in directory.topics
            for each in topic.partitions
        ]
        for (directory_id, topic_id, each), ours in zip(known, told.answers, strict=True):
            assert same(directory_id, ours.directory_id)
            assert same(topic_id, ours.topic_id)
            assert ours == PlacementAnswer(ours.directory_id, ours.topic_id, each.partition_index, each.error_code)
        again = sent_response(assign_replicas_to_dirs.RESPONSE, told, 73, 0)
        assert received(assign_replicas_to_dirs.RESPONSE, again) == told


@given(allocate_producer_ids_requests)
def test_ids_are_asked_for(request: AllocateProducerIdsRequest) -> None:
    sent = sent_request(allocate_producer_ids.REQUEST, request, 67, 0)
    assert (sent.broker_id, sent.broker_epoch) == (request.broker_id, request.broker_epoch)


def test_ids_that_were_given_are_told() -> None:
    for answer in answers(67, 0):
        told = received(allocate_producer_ids.RESPONSE, answer)
        assert (told.error, told.first_id, told.count) == (
            answer.error_code,
            answer.producer_id_start,
            answer.producer_id_len,
        )
