"""What administrators ask is answered also where no controller is reached: with an error, in every version."""

import logging
import random
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Timer
from typing import Any, cast
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode as KioErrorCode

from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.events.event_log import FIELDS, LOGGER_NAME
from replication.cluster.broker.lifecycle.controller_channel import ControllerChannel
from replication.cluster.node.forwarded_apis import ForwardedApis
from replication.cluster.node.network_link import NetworkLink
from replication.cluster.node.unanswered import ANSWERED_BY_CONTROLLER, unanswered
from replication.cluster.quorum.active_controller import ActiveController
from replication.cluster.quorum.errors import MetadataRefusedError
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.encoding.headers import write_response_header
from replication.wire.encoding.kio_messages import read, request_class, response_class, write
from replication.wire.error_code import ErrorCode
from replication.wire.errors import ConnectionFailedError
from replication.wire.messages import describe_quorum
from replication.wire.messages.api import Api
from replication.wire.messages.apis import api_with
from replication.wire.messages.describe_quorum import DescribeQuorumRequest
from replication.wire.server.call import Call, Caller
from tests.campaign import run_seed
from tests.oracle.broker import free_port
from tests.replication.cluster.broker.lifecycle.scripted_controller import ScriptedController
from tests.replication.cluster.broker.lifecycle.unanswering import Unanswering, wait_until
from tests.replication.wire.fake_broker import FakeBroker, framed, receive, versions
from tests.replication.wire.instances import instance

IDENTITY = BrokerIdentity(cluster_id="c", broker_id=1, directory_ids=(UUID(int=9),))
NAMES = {19: "topics", 33: "resources", 37: "topics", 44: "resources", 49: "entries"}
"""What the requests of an API name, each of which has an answer of its own."""


def known(key: int) -> Api:
    api = api_with(key)
    assert api is not None
    return api


CASES = [
    (key, version)
    for key in ANSWERED_BY_CONTROLLER
    for version in known(key).served
    if key != describe_quorum.API_KEY  # which has one partition to ask about
]


def errors_of(answer: Any) -> list[ErrorCode]:
    """All errors in an answer in kio's terms, of the whole and of what it tells of."""
    parts = [answer]
    for name in ("topics", "responses", "results", "entries", "replica_election_results"):
        parts += getattr(answer, name, ())
    for part in tuple(parts):
        parts += getattr(part, "partition_result", ())
    return [part.error_code for part in parts if hasattr(part, "error_code")]


def asked_of(key: int, asked: Any) -> int:
    """How many errors an answer must tell, at least."""
    if key == 20:
        return len(getattr(asked, "topic_names", ())) + len(getattr(asked, "topics", ()))
    if key == 51:
        return len({each.name for each in (*asked.deletions, *asked.upsertions)})
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
        assert errors or key in NAMES or key in {20, 43, 51}, "nobody is told"


@pytest.mark.parametrize("version", describe_quorum.VERSIONS)
def test_who_asks_about_the_quorum_is_told_of_the_error(version: int) -> None:
    told = unanswered(DescribeQuorumRequest(), version, ErrorCode.REQUEST_TIMED_OUT)
    form = known(describe_quorum.API_KEY).response
    read_again = form.read(b"".join(form.write_parts(told, version)), version)
    assert read_again.error is ErrorCode.REQUEST_TIMED_OUT


def test_metadata_that_cannot_be_fetched_is_told_once_and_that_it_can_again(caplog: pytest.LogCaptureFixture) -> None:
    link = NetworkLink([Address("127.0.0.1", free_port())], IDENTITY)
    observer: Any = link._follower._observer
    with caplog.at_level(logging.INFO, LOGGER_NAME):
        for error in (ConnectionFailedError("one:9093", "refused"), ConnectionFailedError("two:9093", "refused")):
            observer.metadata_interrupted(error)
        refused = MetadataRefusedError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "one:9093")
        for _ in range(2):
            observer.metadata_interrupted(refused)
        observer.controller_changed("two:9093")
    link.close()
    events = [getattr(record, FIELDS) for record in caplog.records]
    assert [(each["event"], each["what"]) for each in events] == [
        ("trouble", "metadata"),
        ("trouble", "metadata"),
        ("trouble-over", "metadata"),
    ]
    assert "one:9093" in events[0]["why"]
    assert "allow this user ClusterAction" in events[1]["why"]


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


def test_those_who_wait_behind_one_that_has_no_answer_are_answered_with_it() -> None:
    nobody = Unanswering()
    forwarded = ForwardedApis(cast("ControllerChannel", nobody))
    with ThreadPoolExecutor(8) as threads:
        answers = [threads.submit(unregister, forwarded) for _ in range(8)]
        wait_until(lambda: forwarded._turns.waiting == 7)
        nobody.let_go.set()
        assert {each.result().error_code for each in answers} == {ErrorCode.REQUEST_TIMED_OUT}
    ((_, timeout_ms),) = nobody.asked
    assert timeout_ms is not None
    assert timeout_ms <= 9_000


def test_nobody_waits_for_a_controller_once_the_link_is_closed() -> None:
    link = NetworkLink([Address("127.0.0.1", free_port())], IDENTITY, request_timeout_ms=60_000)
    link.begin(1)
    api = link.administration(1)[64]
    link.close()
    kind = request_class(64, 0)
    answer = api.answer(kind(broker_id=7), Call(0, Caller("127.0.0.1")))  # type: ignore[call-arg]
    assert answer.error_code is ErrorCode.REQUEST_TIMED_OUT


def test_what_an_older_controller_cannot_read_is_answered_so() -> None:
    with ScriptedController(spoken={18: range(5)}).listen() as server:
        controller = ActiveController()
        controller.found(server.address)
        forwarded = ForwardedApis(ControllerChannel(controller, ClientSettings(), 5_000))
        kind = request_class(64, 0)
        answer = forwarded.apis()[64].answer(kind(broker_id=7), Call(0, Caller("127.0.0.1")))  # type: ignore[call-arg]
        assert answer.error_code is ErrorCode.UNSUPPORTED_VERSION
        forwarded.close()


def test_what_was_passed_to_who_leads_no_more_is_passed_to_who_does() -> None:
    controllers = [Opening(ErrorCode.NOT_CONTROLLER), Opening(ErrorCode.NONE)]
    with FakeBroker(controllers[0]) as old, FakeBroker(controllers[1]) as new:
        controller = ActiveController()
        controller.found(old.address)
        forwarded = ForwardedApis(ControllerChannel(controller, ClientSettings(), 30_000))
        timer = Timer(0.2, lambda: controller.found(new.address))
        timer.start()
        assert unregister(forwarded).error_code == ErrorCode.NONE
        timer.join()
        assert all(each.asked for each in controllers)
        forwarded.close()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_an_envelope_that_is_not_opened_is_no_fault_of_who_asks(error: ErrorCode, told: ErrorCode) -> None:
    with FakeBroker(Opening(error)) as server:
        controller = ActiveController()
        controller.found(server.address)
        forwarded = ForwardedApis(ControllerChannel(controller, ClientSettings(), 30_000))
        assert unregister(forwarded).error_code is told
        forwarded.close()


class Opening:
    """A controller that opens envelopes, and unregisters the brokers that it is asked to; or refuses to."""

    def __init__(self, error: ErrorCode) -> None:
        self.error = error
        self.asked = 0

    def __call__(self, stream: socket.socket) -> None:
        stream.sendall(versions(receive(stream), {18: range(5), 58: range(1)}))
        while True:
            asked = receive(stream)
            self.asked += 1
            api = known(64)
            done = unanswered(request_class(64, 0)(broker_id=7), 0, ErrorCode.NONE)  # type: ignore[call-arg]
            data = write_response_header(0, flexible=True) + b"".join(api.response.write_parts(done, 0))
            kind: Any = response_class(58, 0)
            is_open = self.error is ErrorCode.NONE
            answer = kind(response_data=data if is_open else None, error_code=KioErrorCode(self.error))
            stream.sendall(framed(asked.correlation_id, answer))


def unregister(forwarded: ForwardedApis) -> Any:
    kind: Any = request_class(64, 0)
    return forwarded.apis()[64].answer(kind(broker_id=7), Call(0, Caller("127.0.0.1")))
