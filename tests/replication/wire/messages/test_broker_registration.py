"""BrokerRegistration, in every version."""

import random
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.wire.encoding.kio_messages import response_classes
from replication.wire.messages import broker_registration
from replication.wire.messages.broker_registration import (
    VERSIONS,
    BrokerRegistrationRequest,
    Listener,
)
from tests.campaign import run_seed
from tests.replication.wire.by_kio import received, sent_request
from tests.replication.wire.instances import instance
from tests.replication.wire.strategies import broker_registration_requests


@given(broker_registration_requests, st.sampled_from(VERSIONS))
def test_kio_reads_what_was_said(request: BrokerRegistrationRequest, version: int) -> None:
    sent = sent_request(broker_registration.REQUEST, request, 62, version)
    assert (sent.broker_id, sent.cluster_id, sent.rack) == (request.broker_id, request.cluster_id, request.rack)
    assert sent.incarnation_id == request.incarnation_id
    listeners = [Listener(each.name, each.host, each.port, each.security_protocol) for each in sent.listeners]
    assert tuple(listeners) == request.listeners
    if version >= 1:
        assert sent.is_migrating_zk_broker is request.is_migrating_zk_broker
    if version >= 2:
        assert sent.log_dirs == request.log_dirs
    if version >= 3:
        assert sent.previous_broker_epoch == request.previous_broker_epoch


@given(broker_registration_requests, st.sampled_from(VERSIONS))
def test_levels_from_0_on_are_told_since_version_4(request: BrokerRegistrationRequest, version: int) -> None:
    sent: Any = sent_request(broker_registration.REQUEST, request, 62, version)
    told = {each.name: range(each.min_supported_version, each.max_supported_version + 1) for each in sent.features}
    assert told == {name: levels for name, levels in request.features.items() if levels.start or version >= 4}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_controller_answers_is_told(version: int) -> None:
    rng = random.Random(f"{run_seed()} {version}")
    kind = response_classes(62, version).BrokerRegistrationResponse
    for _ in range(20):
        answer = instance(kind, rng)
        response = received(broker_registration.RESPONSE, answer)
        assert (response.error, response.broker_epoch) == (answer.error_code, answer.broker_epoch)
        assert timedelta(milliseconds=response.throttle_time_ms) == answer.throttle_time
