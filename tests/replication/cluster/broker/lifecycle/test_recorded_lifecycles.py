"""The thread sends what Kafka's BrokerLifecycleManager sent in the recorded cases, and stands where that stood.

When it sends is the lifecycle's, which tests/replication/cluster/controller runs through the same cases on a clock that
stands still.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from replication.cluster.broker.lifecycle.errors import NoControllerError
from replication.cluster.broker.lifecycle.lifecycle import BrokerLifecycle
from replication.cluster.broker.lifecycle.lifecycle_thread import LifecycleThread
from replication.wire.error_code import ErrorCode
from replication.wire.errors import AuthenticationFailedError, MalformedResponseError, UnsupportedVersionError
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from replication.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from tests.replication.cluster.broker.lifecycle.scripted_channel import ScriptedChannel
from tests.replication.cluster.broker.lifecycle.scripted_controller import REGISTRATION, alive, registered
from tests.replication.cluster.broker.member import SECONDS, Ear
from tests.replication.cluster.controller.case import Document
from tests.replication.cluster.controller.cases.broker_lifecycle import ANSWERED, REGISTERED, REPLY
from tests.replication.cluster.controller.test_cases import DIRECTORY

INTERVAL_MS = 20
KINDS = {"registration": BrokerRegistrationRequest, "heartbeat": BrokerHeartbeatRequest}
FAILURES = {
    "null body": MalformedResponseError("nothing came"),
    "authentication exception": AuthenticationFailedError("another password"),
    "version mismatch": UnsupportedVersionError("BrokerRegistration", range(5), None),
    "wrong response type": MalformedResponseError("another answer"),
    "timed out": NoControllerError("nobody answers"),
}


def scenarios() -> Iterator[Any]:
    for file in sorted(DIRECTORY.glob("broker_lifecycle*.json")):
        for scenario in json.loads(file.read_text())["scenarios"]:
            yield pytest.param(scenario, id=f"{file.stem}-{scenario['id']}")


@pytest.mark.parametrize("scenario", [*scenarios()])
def test_kafka_sent_this_and_stood_there(scenario: Document) -> None:
    broker = Broker(scenario["initial_registration_timeout_ms"])
    try:
        for step in scenario["steps"]:
            broker.take(step)
        broker.ear.wait_for(lambda: broker.thread.state.name == scenario["final_state"])
    finally:
        broker.thread.stop()


class Broker:
    """The thread, and what is asked of it step by step."""

    def __init__(self, registration_timeout_ms: int) -> None:
        self.ear = Ear()
        self.channel: Any = ScriptedChannel()
        lifecycle = BrokerLifecycle(
            heartbeat_interval_ms=INTERVAL_MS, initial_registration_timeout_ms=registration_timeout_ms
        )
        self.thread = LifecycleThread(REGISTRATION, lifecycle, self.channel, lambda: 5, self.ear)
        self.thread.start()

    def take(self, step: Document) -> None:
        match step["op"]:
            case "expect_request":
                self.expect(step)
            case "controller_reply":
                self.channel.answer(answer_of(step["reply"]))
            case "set_ready_to_unfence":
                self.thread.ready_to_unfence()
            case "begin_controlled_shutdown":
                self.thread.begin_controlled_shutdown()
            case "resend_registration":
                self.thread.resend_registration()
            case "begin_shutdown":
                self.thread.stop()
            case "after_initial_registration_timeout":
                refusal = BrokerRegistrationResponse(error=ErrorCode.DUPLICATE_BROKER_REGISTRATION, broker_epoch=-1)
                self.channel.answer_until(self.thread.state.SHUTTING_DOWN, self.thread, refusal)
            case op:
                pytest.fail(f"nobody knows the step {op}")
        if "state_after" in step:
            self.ear.wait_for(lambda: self.thread.state.name == step["state_after"])

    def expect(self, step: Document) -> None:
        if step["request"] is None:
            assert self.channel.requests.empty()
            return
        request = self.channel.requests.get(timeout=SECONDS)
        assert isinstance(request, KINDS[step["request"]])
        assert self.thread.state.name == step["state_when_sent"]
        for name in ("broker_epoch", "want_fence", "want_shut_down", "current_metadata_offset"):
            if name in step:
                assert getattr(request, name) == step[name], name


def answer_of(text: str) -> object:
    """What a recorded reply is in our terms: an answer, or what is raised in its place."""
    reply = REPLY.fullmatch(text)
    assert reply is not None
    kind, said = reply[1], reply[2]
    if said in FAILURES:
        return FAILURES[said]
    if accepted := REGISTERED.fullmatch(said):
        return registered(int(accepted[1]))
    if answered := ANSWERED.fullmatch(said):
        caught_up, fenced, should_shut_down = (answered[index] == "true" for index in (1, 2, 3))
        return alive(caught_up=caught_up, fenced=fenced, should_shut_down=should_shut_down)
    error = ErrorCode[said]
    if kind == "registration":
        return BrokerRegistrationResponse(error=error, broker_epoch=-1)
    return BrokerHeartbeatResponse(error=error, is_caught_up=False, is_fenced=True, should_shut_down=False)
