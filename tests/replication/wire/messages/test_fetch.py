"""Fetch, in every version: what kio reads is what was asked, and what it answers is told."""

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch import EndOffset
from logstore import TopicPartition
from replication.records.codec.fields import NO_ID
from replication.wire.addresses import Address
from replication.wire.encoding.kio_messages import response_classes
from replication.wire.error_code import ErrorCode
from replication.wire.errors import MalformedResponseError
from replication.wire.messages import fetch_form
from replication.wire.messages.fetch import (
    VERSIONS,
    AbortedTransaction,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    LeaderIdAndEpoch,
    SnapshotId,
    fetch_versions,
)
from replication.wire.messages.fetch_form import read_response
from tests.campaign import run_seed
from tests.replication.wire.by_kio import kio_bytes, sent_request
from tests.replication.wire.instances import instance
from tests.replication.wire.strategies import TOPIC_IDS, fetch_requests

NAMES = {topic_id: name for name, topic_id in TOPIC_IDS.items()}


@given(fetch_requests, st.sampled_from(VERSIONS))
def test_kio_reads_what_was_asked(request: FetchRequest, version: int) -> None:
    sent = sent_request(fetch_form.REQUEST, request, 1, version)
    assert sent.max_wait == timedelta(milliseconds=request.max_wait_ms)
    assert (sent.min_bytes, sent.max_bytes) == (request.min_bytes, request.max_bytes)
    assert sent.isolation_level == request.isolation_level
    asked = {
        TopicPartition(_name(topic, version), told.partition): told
        for topic in sent.topics
        for told in topic.partitions
    }
    assert asked.keys() == request.partitions.keys()
    for partition, told in asked.items():
        assert _told(told) == _said(request.partitions[partition], version)


@given(fetch_requests, st.sampled_from(VERSIONS))
def test_the_bytes_that_are_sent_are_kios(request: FetchRequest, version: int) -> None:
    sent = sent_request(fetch_form.REQUEST, request, 1, version)
    assert kio_bytes(sent) == fetch_form.REQUEST.write(request, version)


@given(fetch_requests, st.sampled_from(range(7, 19)))
def test_a_session_is_named_and_what_it_may_forget(request: FetchRequest, version: int) -> None:
    sent: Any = sent_request(fetch_form.REQUEST, request, 1, version)
    assert (sent.session_id, sent.session_epoch) == (request.session_id, request.session_epoch)
    forgotten = {
        TopicPartition(_name(topic, version), partition)
        for topic in sent.forgotten_topics_data
        for partition in topic.partitions
    }
    assert forgotten == set(request.forgotten)


@given(fetch_requests)
def test_a_replica_says_its_id_and_since_version_15_its_broker_epoch(request: FetchRequest) -> None:
    older: Any = sent_request(fetch_form.REQUEST, request, 1, 14)
    newer: Any = sent_request(fetch_form.REQUEST, request, 1, 15)
    assert older.replica_id == request.replica_id
    assert newer.replica_state.replica_id == request.replica_id
    assert newer.replica_state.replica_epoch == request.replica_epoch


@given(fetch_requests, st.sampled_from(range(12, 19)))
def test_who_follows_the_metadata_says_of_which_cluster(request: FetchRequest, version: int) -> None:
    sent = sent_request(fetch_form.REQUEST, request, 1, version)
    assert sent.cluster_id == request.cluster_id


@given(fetch_requests)
def test_topics_go_by_id_only_where_all_ids_are_known(request: FetchRequest) -> None:
    assert fetch_versions(request) == VERSIONS
    named = {partition.topic for partition in (*request.partitions, *request.forgotten)}
    assert fetch_versions(replace(request, topic_ids={})) == range(4, 13)
    for topic in named:
        ids = {name: topic_id for name, topic_id in TOPIC_IDS.items() if name != topic}
        assert fetch_versions(replace(request, topic_ids=ids)) == range(4, 13)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_leader_answers_is_told(version: int) -> None:
    rng = random.Random(f"{run_seed()} {version}")
    kind = response_classes(1, version).FetchResponse
    for _ in range(20):
        answer = instance(kind, rng, items=3)
        names = (
            {topic.topic_id or NO_ID: f"topic-{topic.topic_id}" for topic in answer.responses} if version >= 13 else {}
        )
        response = read_response(kio_bytes(answer), version, names)
        assert timedelta(milliseconds=response.throttle_time_ms) == answer.throttle_time
        assert response.partitions == _expected(answer, names, version)
        if version >= 7:
            assert (response.error, response.session_id) == (answer.error_code, answer.session_id)
        nodes = answer.node_endpoints if version >= 16 else ()
        assert response.leaders == {node.node_id: Address(node.host, node.port) for node in nodes}


def test_divergence_and_the_current_leader_are_none_where_the_leader_leaves_them_out() -> None:
    classes = response_classes(1, 17)
    silent = classes.PartitionData(
        partition_index=3, error_code=ErrorCode.NONE, high_watermark=9, aborted_transactions=None, records=None
    )
    response = read_response(kio_bytes(_answer(classes, silent)), 17, NAMES)
    told = FetchedPartition(ErrorCode.NONE, 9, -1, b"", None, None)
    assert response.partitions == {TopicPartition("orders", 3): told}


def test_divergence_and_the_current_leader_are_told() -> None:
    classes = response_classes(1, 17)
    telling = classes.PartitionData(
        partition_index=3,
        error_code=ErrorCode.FENCED_LEADER_EPOCH,
        high_watermark=-1,
        diverging_epoch=classes.EpochEndOffset(epoch=0, end_offset=40),
        current_leader=classes.LeaderIdAndEpoch(leader_id=0, leader_epoch=7),
        aborted_transactions=None,
        records=None,
    )
    told = read_response(kio_bytes(_answer(classes, telling)), 17, NAMES).partitions[TopicPartition("orders", 3)]
    assert told.diverging_epoch == EndOffset(0, 40)
    assert told.current_leader == LeaderIdAndEpoch(0, 7)


def test_a_topic_id_that_was_not_asked_for_is_refused() -> None:
    classes = response_classes(1, 17)
    with pytest.raises(MalformedResponseError, match="00000000-0000-0000-0000-000000000001, which was not requested"):
        read_response(kio_bytes(_answer(classes)), 17, {})


def _answer(classes: Any, *partitions: Any) -> Any:
    topic = classes.FetchableTopicResponse(topic_id=TOPIC_IDS["orders"], partitions=partitions)
    return classes.FetchResponse(throttle_time=timedelta(), error_code=ErrorCode.NONE, responses=(topic,))


def _name(topic: Any, version: int) -> str:
    return NAMES[topic.topic_id] if version >= 13 else topic.topic


def _said(asked: FetchPartition, version: int) -> dict[str, Any]:
    """What a version can say of a partition."""
    since = {
        "log_start_offset": 5,
        "current_leader_epoch": 9,
        "last_fetched_epoch": 12,
        "replica_directory_id": 17,
        "high_watermark": 18,
    }
    said = {name: value for name, value in asked._asdict().items() if version >= since.get(name, 0)}
    # kio's None is an id of zeros.
    return said if said.get("replica_directory_id") != NO_ID else {**said, "replica_directory_id": None}


def _told(partition: Any) -> dict[str, Any]:
    names = (
        "fetch_offset",
        "current_leader_epoch",
        "last_fetched_epoch",
        "log_start_offset",
        "replica_directory_id",
        "high_watermark",
    )
    told = {name: getattr(partition, name) for name in names if hasattr(partition, name)}
    return {**told, "max_bytes": partition.partition_max_bytes}


def _expected(answer: Any, names: Mapping[UUID, str], version: int) -> dict[TopicPartition, FetchedPartition]:
    return {
        TopicPartition(
            names[topic.topic_id or NO_ID] if version >= 13 else topic.topic, told.partition_index
        ): FetchedPartition(
            told.error_code,
            told.high_watermark,
            told.log_start_offset if version >= 5 else -1,
            told.records or b"",
            _if(version >= 12 and told.diverging_epoch.epoch >= 0, lambda told=told: _end(told.diverging_epoch)),
            _if(version >= 12 and told.current_leader.leader_id >= 0, lambda told=told: _leader(told.current_leader)),
            _if(version >= 12 and told.snapshot_id.end_offset >= 0, lambda told=told: _snapshot(told.snapshot_id)),
            told.last_stable_offset,
            _if(told.aborted_transactions is not None, lambda told=told: _aborted(told.aborted_transactions)),
            told.preferred_read_replica if version >= 11 else -1,
        )
        for topic in answer.responses
        for told in topic.partitions
    }


def _if(condition: bool, value: Any) -> Any:
    return value() if condition else None


def _end(told: Any) -> EndOffset:
    return EndOffset(told.epoch, told.end_offset)


def _aborted(told: Any) -> tuple[AbortedTransaction, ...]:
    return tuple(AbortedTransaction(each.producer_id, each.first_offset) for each in told)


def _leader(told: Any) -> LeaderIdAndEpoch:
    return LeaderIdAndEpoch(told.leader_id, told.leader_epoch)


def _snapshot(told: Any) -> SnapshotId:
    return SnapshotId(told.end_offset, told.epoch)
