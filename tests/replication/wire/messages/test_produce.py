"""Produce, in every version: what kio reads is what was asked, and what it answers is told."""

import random
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.wire.addresses import Address
from replication.wire.encoding.kio_messages import response_classes
from replication.wire.error_code import ErrorCode
from replication.wire.messages import produce
from replication.wire.messages.produce import (
    VERSIONS,
    ProducedPartition,
    ProduceRequest,
    ProduceResponse,
    named,
    produce_versions,
)
from tests.campaign import run_seed
from tests.replication.wire.by_kio import kio_bytes, received, sent_request, sent_response
from tests.replication.wire.instances import instance
from tests.replication.wire.strategies import TOPIC_IDS, produce_requests

ORDERS = TopicPartition("orders", 0)
ORDERS_ID = UUID(int=5)


@given(produce_requests, st.sampled_from(VERSIONS))
def test_kio_reads_what_was_asked(request: ProduceRequest, version: int) -> None:
    sent: Any = sent_request(produce.REQUEST, request, 0, version)
    assert (sent.transactional_id, sent.acks) == (request.transactional_id, request.acks)
    assert sent.timeout == timedelta(milliseconds=request.timeout_ms)
    names = {topic_id: name for name, topic_id in TOPIC_IDS.items()}
    assert {
        TopicPartition(topic.name if version < 13 else names[topic.topic_id], each.index): each.records
        for topic in sent.topic_data
        for each in topic.partition_data
    } == request.partitions
    assert kio_bytes(sent) == produce.REQUEST.write(request, version)


@given(produce_requests, st.sampled_from(VERSIONS))
def test_what_was_asked_is_read_and_its_records_are_views(request: ProduceRequest, version: int) -> None:
    data = bytearray(produce.REQUEST.write(request, version))
    told = produce.REQUEST.read(memoryview(data), version)
    names = {topic_id: name for name, topic_id in TOPIC_IDS.items()}
    topics = {topic for topic, _ in request.partitions}
    ids = {topic: TOPIC_IDS[topic] for topic in topics} if version >= 13 else {}
    assert named(told, names) == ProduceRequest(
        partitions=request.partitions,
        acks=request.acks,
        timeout_ms=request.timeout_ms,
        transactional_id=request.transactional_id,
        topic_ids=ids,
    )
    assert all(records.obj is data for records in told.partitions.values() if records)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_leader_answers_is_told(version: int) -> None:
    rng = random.Random(f"{run_seed()} {version}")
    for _ in range(40):
        answer: Any = instance(response_classes(0, version).ProduceResponse, rng, items=3)
        told: ProduceResponse = received(produce.RESPONSE, answer)
        seen = {
            TopicPartition(topic.name if version < 13 else f"id:{topic.topic_id or UUID(int=0)}", each.index): each
            for topic in answer.responses
            for each in topic.partition_responses
        }
        assert told.partitions.keys() == seen.keys()
        for partition, each in seen.items():
            _is_told(told.partitions[partition], each)
        again: ProduceResponse = received(produce.RESPONSE, sent_response(produce.RESPONSE, told, 0, version))
        assert again.partitions == told.partitions


def _is_told(told: ProducedPartition, each: Any) -> None:
    assert (told.error, told.base_offset) == (each.error_code, each.base_offset)
    assert told.log_start_offset == getattr(each, "log_start_offset", -1)
    assert [tuple(error) for error in told.record_errors] == [
        (error.batch_index, error.batch_index_error_message) for error in getattr(each, "record_errors", ())
    ]
    assert told.error_message == getattr(each, "error_message", None)
    leader = getattr(each, "current_leader", None)
    assert told.current_leader == (
        (leader.leader_id, leader.leader_epoch) if leader is not None and leader.leader_id >= 0 else None
    )


def test_topics_are_named_by_their_ids_only_where_all_have_one() -> None:
    assert produce_versions(ProduceRequest(partitions={ORDERS: b""})) == range(3, 13)
    assert produce_versions(ProduceRequest(partitions={ORDERS: b""}, topic_ids={"orders": ORDERS_ID})) == range(3, 14)
    assert produce_versions(ProduceRequest(partitions={ORDERS: b""}, topic_ids={"x": ORDERS_ID})) == range(3, 13)


def test_an_id_that_has_no_name_stays_what_it_is() -> None:
    request = ProduceRequest(partitions={ORDERS: b"x"}, topic_ids={"orders": ORDERS_ID})
    told = produce.REQUEST.read(produce.REQUEST.write(request, 13), 13)
    assert list(named(told, {}).partitions) == [TopicPartition(f"id:{ORDERS_ID}", 0)]


def test_where_the_leaders_listen_is_told_from_version_10_on() -> None:
    response = ProduceResponse(
        partitions={ORDERS: ProducedPartition(ErrorCode.NOT_LEADER_OR_FOLLOWER)}, leaders={2: Address("b2", 9092)}
    )
    for version in range(3, 13):
        told = produce.RESPONSE.read(produce.RESPONSE.write(response, version), version)
        assert told.leaders == ({2: Address("b2", 9092)} if version >= 10 else {})
