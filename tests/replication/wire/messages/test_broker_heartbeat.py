"""BrokerHeartbeat, in every version."""

import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.wire.encoding.kio_messages import response_classes
from replication.wire.messages import broker_heartbeat
from replication.wire.messages.broker_heartbeat import (
    VERSIONS,
    BrokerHeartbeatRequest,
)
from tests.campaign import run_seed
from tests.replication.wire.by_kio import received, sent_request
from tests.replication.wire.instances import instance
from tests.replication.wire.strategies import broker_heartbeat_requests


@given(broker_heartbeat_requests, st.sampled_from(VERSIONS))
def test_kio_reads_what_was_said(request: BrokerHeartbeatRequest, version: int) -> None:
    sent = sent_request(broker_heartbeat.REQUEST, request, 63, version)
    since = {"offline_log_dirs": 1, "cordoned_log_dirs": 2}
    names = ("broker_id", "broker_epoch", "current_metadata_offset", "want_fence", "want_shut_down", *since)
    for name in names:
        if version >= since.get(name, 0):
            assert getattr(sent, name) == getattr(request, name)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_controller_answers_is_told(version: int) -> None:
    rng = random.Random(f"{run_seed()} {version}")
    kind = response_classes(63, version).BrokerHeartbeatResponse
    for _ in range(20):
        answer = instance(kind, rng)
        response = received(broker_heartbeat.RESPONSE, answer)
        assert response.error == answer.error_code
        assert response.is_caught_up is answer.is_caught_up
        assert response.is_fenced is answer.is_fenced
        assert response.should_shut_down is answer.should_shut_down
        assert timedelta(milliseconds=response.throttle_time_ms) == answer.throttle_time
