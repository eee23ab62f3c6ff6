"""ElectLeaders, in every version."""

import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.wire.encoding.kio_messages import response_classes
from replication.wire.error_code import ErrorCode
from replication.wire.messages import elect_leaders
from replication.wire.messages.elect_leaders import (
    VERSIONS,
    ElectionType,
    ElectLeadersRequest,
    elect_leaders_versions,
)
from tests.campaign import run_seed
from tests.replication.wire.by_kio import received, sent_request
from tests.replication.wire.instances import instance
from tests.replication.wire.strategies import elect_leaders_requests


@given(elect_leaders_requests, st.data())
def test_kio_reads_what_was_said(request: ElectLeadersRequest, data: st.DataObject) -> None:
    version = data.draw(st.sampled_from(elect_leaders_versions(request)))
    sent = sent_request(elect_leaders.REQUEST, request, 43, version)
    assert getattr(sent, "election_type", ElectionType.PREFERRED) == request.election_type
    assert sent.timeout == timedelta(milliseconds=request.timeout_ms)
    if request.partitions is None:
        assert sent.topic_partitions is None
    else:
        told = [TopicPartition(each.topic, number) for each in sent.topic_partitions for number in each.partitions]
        assert sorted(told) == sorted(request.partitions)


def test_the_first_version_knows_preferred_elections_only() -> None:
    assert (
        elect_leaders_versions(ElectLeadersRequest(election_type=ElectionType.PREFERRED, partitions=None)) == VERSIONS
    )
    assert elect_leaders_versions(ElectLeadersRequest(election_type=ElectionType.UNCLEAN, partitions=None)) == range(
        1, 3
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_controller_answers_is_told(version: int) -> None:
    rng = random.Random(f"{run_seed()} {version}")
    kind = response_classes(43, version).ElectLeadersResponse
    for _ in range(20):
        answer = instance(kind, rng)
        response = received(elect_leaders.RESPONSE, answer)
        assert response.error == getattr(answer, "error_code", ErrorCode.NONE)
        assert timedelta(milliseconds=response.throttle_time_ms) == answer.throttle_time
        # Of a partition that comes twice the last answer counts, of a topic that comes twice, too.
        assert dict(response.results) == {
            TopicPartition(topic.topic, each.partition_id): (each.error_code, each.error_message)
            for topic in answer.replica_election_results
            for each in topic.partition_result
        }
