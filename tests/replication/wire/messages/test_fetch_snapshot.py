"""FetchSnapshot, in every version."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.wire.encoding.kio_messages import read, response_classes, write
from replication.wire.error_code import ErrorCode
from replication.wire.errors import MalformedResponseError
from replication.wire.messages import fetch_snapshot
from replication.wire.messages.fetch_snapshot import (
    VERSIONS,
    FetchSnapshotRequest,
)
from tests.campaign import run_seed
from tests.replication.wire.by_kio import received, sent_request
from tests.replication.wire.instances import instance
from tests.replication.wire.strategies import fetch_snapshot_requests


@given(fetch_snapshot_requests, st.sampled_from(VERSIONS))
def test_kio_reads_what_was_asked(request: FetchSnapshotRequest, version: int) -> None:
    sent = sent_request(fetch_snapshot.REQUEST, request, 59, version)
    (topic,) = sent.topics
    (partition,) = topic.partitions
    assert (topic.name, partition.partition) == request.partition
    assert (partition.snapshot_id.end_offset, partition.snapshot_id.epoch) == request.snapshot_id
    assert (partition.position, partition.current_leader_epoch) == (request.position, request.current_leader_epoch)
    assert (sent.replica_id, sent.max_bytes, sent.cluster_id) == (
        request.replica_id,
        request.max_bytes,
        request.cluster_id,
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_leader_answers_is_told(version: int) -> None:
    rng = random.Random(f"{run_seed()} {version}")
    kind = response_classes(59, version).FetchSnapshotResponse
    answers = [instance(kind, rng) for _ in range(100)]
    answers += [replace(answer, error_code=ErrorCode.NONE) for answer in answers]
    outcomes = {_told(read(kind, memoryview(write(answer)))) for answer in answers}
    assert outcomes == {"refused", "one partition", "not one partition"}


def _told(answer: Any) -> str:
    """Compare what is told with an answer, and return of which kind that is."""
    partitions = [partition for topic in answer.topics for partition in topic.partitions]
    if answer.error_code != ErrorCode.NONE:
        assert received(fetch_snapshot.RESPONSE, answer).error == answer.error_code
        return "refused"
    if len(partitions) != 1:
        with pytest.raises(MalformedResponseError, match=f"has {len(partitions)} partitions"):
            received(fetch_snapshot.RESPONSE, answer)
        return "not one partition"
    response, told = received(fetch_snapshot.RESPONSE, answer), partitions[0]
    assert response.error == told.error_code
    assert (response.size, response.position) == (told.size, told.position)
    assert response.data == (told.unaligned_records or b"")
    return "one partition"
