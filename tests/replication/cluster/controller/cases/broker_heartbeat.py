"""What Kafka's BrokerHeartbeatManager and BrokerHeartbeatTracker 4.3.1 made of heartbeats."""

from collections.abc import Callable
from functools import partial

import pytest

from replication.cluster.controller.brokers.heartbeats import (
    ControlState,
    FencedShutdownError,
    HeartbeatIntent,
    Heartbeats,
    NotRegisteredError,
)
from replication.cluster.controller.brokers.sessions import BrokerIncarnation, BrokerSessions
from tests.replication.cluster.controller.case import Case, Cases, Document, only

BROKER = 1
STALE_CONTACTS = {1: 0, 2: 1000, 3: 2000}
STALE_TIMEOUT, STALE_NOW = 9000, 10500


def cases(document: Document) -> Cases:
    only(
        document,
        *("source", "next_state_cases", "state_flags", "errors", "controlled_shutdown_offset_first_wins"),
        *("session_cases", "stale_sequence", "stale_sequence_note"),
    )
    for case in document.get("next_state_cases", ()):
        yield Case(case["id"], partial(check_next_state, case))
    for flags in document.get("state_flags", ()):
        yield Case(f"flags-{flags['state']}", partial(check_flags, flags))
    for error in document.get("errors", ()):
        yield Case(f"error-{error['throws']}", partial(check_error, error))
    if "controlled_shutdown_offset_first_wins" in document:
        yield Case("first-offset", lambda: check_first_offset(document["controlled_shutdown_offset_first_wins"]))
    for session in document.get("session_cases", ()):
        name = f"session-{session['ms_since_last_contact']}"
        yield Case(name, partial(check_session, session))
    if "stale_sequence" in document:
        yield Case("stale-sequence", lambda: check_stale_sequence(document["stale_sequence"]))


def check_next_state(case: Document) -> None:
    only(
        case,
        *("id", "current", "want_fence", "want_shut_down", "current_metadata_offset", "register_record_offset"),
        *("has_leaderships", "other_active_broker_offsets", "controlled_shutdown_offset"),
        *("note", "next", "reply_is_fenced", "reply_should_shut_down", "reply_is_caught_up"),
    )
    heartbeats = Heartbeats()
    heartbeats.register(BROKER, fenced=case["current"] == "FENCED")
    if case["current"] == "CONTROLLED_SHUTDOWN":
        heartbeats.enter_controlled_shutdown(BROKER, case["controlled_shutdown_offset"])
    for broker, offset in enumerate(case.get("other_active_broker_offsets", ()), BROKER + 1):
        heartbeats.register(broker, fenced=False)
        heartbeats.touch(broker, fenced=False, metadata_offset=offset)
    assert heartbeats.state(BROKER).name == case["current"]
    wish = HeartbeatIntent(case["want_fence"], case["want_shut_down"], case["current_metadata_offset"])
    after = heartbeats.next_state(BROKER, wish, case["register_record_offset"], lambda: case["has_leaderships"])
    assert after.name == case["next"]
    assert after.fenced == case["reply_is_fenced"]
    assert after.should_shut_down == case["reply_should_shut_down"]
    assert wish.is_caught_up(case["register_record_offset"]) == case["reply_is_caught_up"]


def check_flags(flags: Document) -> None:
    only(flags, "state", "fenced", "should_shut_down", "in_controlled_shutdown")
    state = ControlState[flags["state"]]
    assert state.fenced == flags["fenced"]
    assert state.should_shut_down == flags["should_shut_down"]
    assert state.in_controlled_shutdown == flags["in_controlled_shutdown"]


def check_error(error: Document) -> None:
    only(error, "when", "throws", "message")
    heartbeats = Heartbeats()
    heartbeats.register(BROKER, fenced=True)
    does: dict[str, tuple[type[Exception], Callable[[], object]]] = {
        "heartbeat of a broker that was never registered": (
            NotRegisteredError,
            lambda: heartbeats.next_state(9, HeartbeatIntent(False, False, 0), 0, lambda: False),
        ),
        "controlled-shutdown offset set on a fenced broker": (
            FencedShutdownError,
            lambda: heartbeats.enter_controlled_shutdown(BROKER, 100),
        ),
    }
    expected, call = does[error["when"]]
    with pytest.raises(expected) as raised:
        call()
    assert str(raised.value) == error["message"]


def check_first_offset(case: Document) -> None:
    only(case, "first", "second", "result", "after_fencing")
    heartbeats = Heartbeats()
    heartbeats.register(BROKER, fenced=False)
    heartbeats.enter_controlled_shutdown(BROKER, case["first"])
    heartbeats.enter_controlled_shutdown(BROKER, case["second"])
    assert heartbeats._registered(BROKER).shutdown_offset == case["result"]
    heartbeats.touch(BROKER, fenced=True, metadata_offset=0)
    assert heartbeats._registered(BROKER).shutdown_offset == case["after_fencing"]


def check_session(case: Document) -> None:
    only(
        case,
        *("session_timeout_ms", "ms_since_last_contact", "valid_session", "valid_session_other_epoch"),
        "removed_as_stale",
    )
    sessions, now = BrokerSessions(case["session_timeout_ms"]), case["ms_since_last_contact"]
    sessions.contact(BrokerIncarnation(BROKER, 100), 0)
    assert sessions.has_session(BrokerIncarnation(BROKER, 100), now) == case["valid_session"]
    assert sessions.has_session(BrokerIncarnation(BROKER, 101), now) == case["valid_session_other_epoch"]
    assert (sessions.take_expired(now) is not None) == case["removed_as_stale"]


def check_stale_sequence(expected: list[int]) -> None:
    sessions = BrokerSessions(STALE_TIMEOUT)
    for broker, contact in STALE_CONTACTS.items():
        sessions.contact(BrokerIncarnation(broker, 100), contact)
    taken = [sessions.take_expired(STALE_NOW) for _ in expected]
    assert sorted(-1 if stale is None else stale.broker_id for stale in taken) == sorted(expected)
