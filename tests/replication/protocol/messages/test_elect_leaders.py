"""ElectLeaders, in every version."""

import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages import elect_leaders
from replication.protocol.messages.elect_leaders import (
    VERSIONS,
    ElectionType,
    ElectLeadersRequest,
    elect_leaders_versions,
)
from replication.protocol.wire.kio_messages import response_classes
from tests.campaign import run_seed
from tests.replication.protocol.by_kio import received, sent_request
from tests.replication.protocol.instances import instance
from tests.replication.protocol.strategies import elect_leaders_requests


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
        for topic in answer.replica_election_results:
            last = {told.partition_id: (told.error_code, told.error_message) for told in topic.partition_result}
            assert all(
                (TopicPartition(topic.topic, number), told) in response.results.items() for number, told in last.items()
            )
