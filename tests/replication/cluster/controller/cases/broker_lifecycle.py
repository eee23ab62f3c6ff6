"""What Kafka's BrokerLifecycleManager 4.3.1 sent to a scripted controller, replayed on a clock that stands still."""

import re
from functools import partial
from typing import Any

from replication.cluster.broker.lifecycle.lifecycle import (
    BrokerLifecycle,
    BrokerState,
    HeartbeatDue,
    Milestone,
    RegistrationDue,
)
from tests.replication.cluster.controller.case import Case, Cases, Document, only

TOLERANCE_MS = 9
"""The recorded delays were measured; those that differ by more are others: 0, 10, 50, the interval."""

REPLY = re.compile(r"(registration|heartbeat):? (.+)")
REGISTERED = re.compile(r"NONE epoch (-?\d+)")
ANSWERED = re.compile(r"NONE caught_up=(\w+) fenced=(\w+) should_shut_down=(\w+)")


def cases(document: Document) -> Cases:
    only(document, "source", "scenarios")
    for scenario in document["scenarios"]:
        yield Case(scenario["id"], partial(check, scenario))


def check(scenario: Document) -> None:
    only(
        scenario,
        *("id", "why", "heartbeat_interval_ms", "session_timeout_ms", "initial_registration_timeout_ms"),
        *("final_state", "channel_shut_down", "steps"),
    )
    broker = Broker(scenario)
    for step in scenario["steps"]:
        broker.take(step)
    assert broker.lifecycle.state.name == scenario["final_state"]
    assert broker.observed("channel_shut_down") == scenario["channel_shut_down"]


class Broker:
    """A broker whose clock moves only as the steps say."""

    def __init__(self, scenario: Document) -> None:
        self.lifecycle = BrokerLifecycle(
            heartbeat_interval_ms=scenario["heartbeat_interval_ms"],
            initial_registration_timeout_ms=scenario["initial_registration_timeout_ms"],
        )
        self.timeout = scenario["initial_registration_timeout_ms"]
        self.now = 0
        self.last_event = 0

    def take(self, step: Document) -> None:
        fields = dict(step)
        op = fields.pop("op")
        if op != "created" and self.lifecycle.state is BrokerState.NOT_RUNNING:
            self.lifecycle.start(self.now)
        getattr(self, op)(fields)
        for name, value in fields.items():
            assert self.observed(name) == value, f"{name} after {step}"

    # What a step does; it takes out the fields that it has dealt with

    def created(self, fields: dict[str, Any]) -> None:
        pass

    def expect_request(self, fields: dict[str, Any]) -> None:
        kind = fields.pop("request")
        if kind is None:
            self.expect_silence(fields.pop("waited_ms"))
            return
        wake_at = self.lifecycle.wake_at
        assert wake_at is not None, "it would never send anything"
        self.now = max(self.now, wake_at)
        due = self.lifecycle.request_due(self.now)
        assert self.lifecycle.state.name == fields.pop("state_when_sent")
        for name in [name for name in fields if name.startswith("delay_since_")]:
            assert abs(self.now - self.last_event - fields.pop(name)) <= TOLERANCE_MS, f"{name} of {due}"
        if kind == "registration":
            assert isinstance(due, RegistrationDue)
            return
        assert kind == "heartbeat"
        assert isinstance(due, HeartbeatDue)
        assert due == HeartbeatDue(fields.pop("broker_epoch"), fields.pop("want_fence"), fields.pop("want_shut_down"))
        fields.pop("current_metadata_offset")  # what replays the metadata knows it, not the lifecycle

    def expect_silence(self, milliseconds: int) -> None:
        until = self.now + milliseconds
        while self.lifecycle.wake_at is not None and self.lifecycle.wake_at <= until:
            self.now = max(self.now, self.lifecycle.wake_at)
            assert self.lifecycle.request_due(self.now) is None
        self.now = until

    def after_initial_registration_timeout(self, _: dict[str, Any]) -> None:
        self.now = self.timeout
        assert self.lifecycle.request_due(self.now) is None

    def controller_reply(self, fields: dict[str, Any]) -> None:
        reply = REPLY.fullmatch(fields.pop("reply"))
        assert reply is not None
        self.last_event = self.now
        registered, answered = REGISTERED.fullmatch(reply[2]), ANSWERED.fullmatch(reply[2])
        if reply[1] == "registration" and registered:
            self.lifecycle.registered(self.now, int(registered[1]))
        elif reply[1] == "heartbeat" and answered:
            caught_up, fenced, should_shut_down = (answered[index] == "true" for index in (1, 2, 3))
            self.lifecycle.heartbeat_answered(
                self.now, is_caught_up=caught_up, is_fenced=fenced, should_shut_down=should_shut_down
            )
        else:
            assert not reply[2].startswith("NONE"), f"nobody can read the reply {reply[0]!r}"
            self.lifecycle.request_failed(self.now)

    def set_ready_to_unfence(self, _: dict[str, Any]) -> None:
        self.last_event = self.now
        self.lifecycle.ready_to_unfence(self.now)

    def begin_controlled_shutdown(self, _: dict[str, Any]) -> None:
        self.last_event = self.now
        self.lifecycle.begin_controlled_shutdown(self.now)

    def begin_shutdown(self, _: dict[str, Any]) -> None:
        self.lifecycle.begin_shutdown()

    def resend_registration(self, _: dict[str, Any]) -> None:
        self.last_event = self.now
        self.lifecycle.resend_registration(self.now)

    def observed(self, name: str) -> Any:
        lifecycle = self.lifecycle
        return {
            "state": lifecycle.state.name,
            "state_after": lifecycle.state.name,
            "broker_epoch": lifecycle.broker_epoch,
            "broker_epoch_after": lifecycle.broker_epoch,
            "caught_up_future_done": lifecycle.caught_up is not Milestone.AHEAD,
            "unfenced_future_done": lifecycle.unfenced is not Milestone.AHEAD,
            "controlled_shutdown_future_done": lifecycle.shut_down is not Milestone.AHEAD,
            "channel_shut_down": lifecycle.state is BrokerState.SHUTTING_DOWN,
        }[name]
