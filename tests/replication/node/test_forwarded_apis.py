"""What administrators ask is answered also where no controller is reached: with an error, in every version."""

import random
import time
from typing import Any
from uuid import UUID

import pytest

from replication.broker.broker_identity import BrokerIdentity
from replication.node.network_link import NetworkLink
from replication.node.unanswered import ANSWERED_BY_CONTROLLER, unanswered
from replication.protocol.addresses import Address
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.api import Api
from replication.protocol.messages.apis import api_with
from replication.protocol.wire.kio_messages import read, request_class, response_class, write
from replication.server.call import Call, Caller
from tests.campaign import run_seed
from tests.oracle.broker import free_port
from tests.replication.protocol.instances import instance

IDENTITY = BrokerIdentity(cluster_id="c", broker_id=1, directory_ids=(UUID(int=9),))
NAMES = {19: "topics", 33: "resources", 37: "topics", 44: "resources"}
"""What the requests of an API name, each of which has an answer of its own."""


def known(key: int) -> Api:
    api = api_with(key)
    assert api is not None
    return api


CASES = [(key, version) for key in ANSWERED_BY_CONTROLLER for version in known(key).served]


def errors_of(answer: Any) -> list[ErrorCode]:
    """All errors in an answer in kio's terms, of the whole and of what it tells of."""
    parts = [answer]
    for name in ("topics", "responses", "results", "replica_election_results"):
        parts += getattr(answer, name, ())
    for part in tuple(parts):
        parts += getattr(part, "partition_result", ())
    return [part.error_code for part in parts if hasattr(part, "error_code")]


def asked_of(key: int, asked: Any) -> int:
    """How many errors an answer must tell, at least."""
    if key == 20:
        return len(getattr(asked, "topic_names", ())) + len(getattr(asked, "topics", ()))
    return len(getattr(asked, NAMES[key])) if key in NAMES else 0


@pytest.mark.parametrize(("key", "version"), CASES)
def test_each_request_can_be_answered_in_place_of_the_controller(key: int, version: int) -> None:
    rng, api = random.Random(f"{run_seed()} {key} {version}"), known(key)
    for _ in range(10):
        asked = instance(request_class(key, version), rng, items=3)
        answer = unanswered(api.request.read(write(asked), version), version, ErrorCode.REQUEST_TIMED_OUT)
        told = read(response_class(key, version), b"".join(api.response.write_parts(answer, version)))
        errors = errors_of(told)
        assert set(errors) <= {ErrorCode.REQUEST_TIMED_OUT}
        assert len(errors) >= asked_of(key, asked)
        assert errors or key in NAMES or key in {20, 43}, "nobody is told"


def test_what_nobody_answers_in_time_is_answered_so() -> None:
    link = NetworkLink([Address("127.0.0.1", free_port())], IDENTITY, request_timeout_ms=300)
    link.begin(1)
    try:
        api = link.administration(1)[64]
        kind = request_class(64, 0)
        began = time.monotonic()
        answer = api.answer(kind(broker_id=7), Call(0, Caller("127.0.0.1")))  # type: ignore[call-arg]
        assert answer.error_code is ErrorCode.REQUEST_TIMED_OUT
        assert time.monotonic() - began < 10
    finally:
        link.close()


def test_nobody_waits_for_a_controller_once_the_link_is_closed() -> None:
    link = NetworkLink([Address("127.0.0.1", free_port())], IDENTITY, request_timeout_ms=60_000)
    link.begin(1)
    api = link.administration(1)[64]
    link.close()
    kind = request_class(64, 0)
    answer = api.answer(kind(broker_id=7), Call(0, Caller("127.0.0.1")))  # type: ignore[call-arg]
    assert answer.error_code is ErrorCode.REQUEST_TIMED_OUT
