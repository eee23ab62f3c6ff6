"""What holds in each life of a broker, beyond the recorded cases in tests/replication/cluster/controller."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.cluster.broker.lifecycle.lifecycle import (
    BrokerLifecycle,
    BrokerState,
    HeartbeatDue,
    Milestone,
    RegistrationDue,
)

INTERVAL, GIVE_UP = 2000, 60_000
EVENTS = st.sampled_from(
    [
        "accepted",
        "fenced",
        "unfenced",
        "behind",
        "may go",
        "failed",
        "ready",
        "shut down",
        "again",
        "later",
        "much later",
    ]
)


def started() -> BrokerLifecycle:
    broker = BrokerLifecycle(heartbeat_interval_ms=INTERVAL, initial_registration_timeout_ms=GIVE_UP)
    broker.start(0)
    return broker


def running(now: int = 0) -> BrokerLifecycle:
    broker = started()
    assert broker.request_due(now) == RegistrationDue()
    broker.registered(now, 5)
    broker.ready_to_unfence(now)
    assert broker.request_due(now) == HeartbeatDue(5, want_fence=False, want_shut_down=False)
    broker.heartbeat_answered(now, is_caught_up=True, is_fenced=True, should_shut_down=False)
    assert isinstance(broker.request_due(now + 10), HeartbeatDue)
    broker.heartbeat_answered(now + 10, is_caught_up=True, is_fenced=False, should_shut_down=False)
    assert broker.state is BrokerState.RUNNING
    return broker


@given(st.lists(EVENTS, max_size=60))
def test_one_request_is_in_flight_at_most_and_no_state_comes_back(events: list[str]) -> None:
    broker, now, in_flight = started(), 0, False
    states = [broker.state]
    for event in events:
        due = broker.request_due(now)
        assert not (due and in_flight)
        in_flight = in_flight or due is not None
        match event:
            case "later":
                now += 100
            case "much later":
                now += GIVE_UP
            case "ready":
                broker.ready_to_unfence(now)
            case "shut down":
                broker.begin_controlled_shutdown(now)
            case "again":
                broker.resend_registration(now)
            case answer if in_flight:
                in_flight = False
                answered(broker, now, answer)
        states.append(broker.state)
        if broker.state is BrokerState.SHUTTING_DOWN:
            assert broker.wake_at is None
            assert Milestone.AHEAD not in {broker.caught_up, broker.unfenced, broker.shut_down}
        elif not in_flight:
            assert broker.wake_at is not None, "nothing would ever happen again"
    assert states == sorted(states)


def answered(broker: BrokerLifecycle, now: int, answer: str) -> None:
    if answer == "failed":
        broker.request_failed(now)
    elif answer == "accepted":
        broker.registered(now, 5)
    else:
        broker.heartbeat_answered(
            now,
            is_caught_up=answer != "behind",
            is_fenced=answer != "unfenced",
            should_shut_down=answer == "may go",
        )


def test_a_start_that_nobody_answers_ends() -> None:
    broker = started()
    assert broker.request_due(0) == RegistrationDue()
    broker.request_failed(0)
    assert broker.wake_at == INTERVAL
    assert broker.request_due(GIVE_UP) is None
    assert broker.state is BrokerState.SHUTTING_DOWN
    assert broker.unfenced is Milestone.CANCELLED


def test_who_has_registered_has_all_the_time_it_needs() -> None:
    broker = started()
    broker.request_due(0)
    broker.registered(0, 5)
    assert isinstance(broker.request_due(GIVE_UP), HeartbeatDue)
    assert broker.state is BrokerState.STARTING


def test_what_is_urgent_goes_right_after_the_answer_and_never_after_a_failure() -> None:
    for fails in (False, True):
        broker = started()
        broker.request_due(0)
        broker.registered(0, 5)
        broker.request_due(0)
        broker.ready_to_unfence(0)
        assert broker.request_due(0) is None
        if fails:
            broker.request_failed(0)
        else:
            broker.heartbeat_answered(0, is_caught_up=True, is_fenced=True, should_shut_down=False)
        assert broker.wake_at == (INTERVAL if fails else 0)


def test_what_has_changed_is_told_at_once_by_who_is_registered() -> None:
    broker = running()
    broker.heartbeat_soon(100)
    assert isinstance(broker.request_due(100), HeartbeatDue)
    waiting = started()
    waiting.request_due(0)
    waiting.request_failed(0)
    waiting.heartbeat_soon(100)
    assert waiting.wake_at == INTERVAL, "the next registration says it too"


def test_registering_again_keeps_the_state_and_goes_on_with_heartbeats() -> None:
    broker = running()
    broker.resend_registration(100)
    assert broker.request_due(100) == RegistrationDue()
    broker.registered(100, 5)
    assert broker.state is BrokerState.RUNNING
    assert isinstance(broker.request_due(100), HeartbeatDue)


def test_a_controlled_shutdown_asks_soon_then_at_intervals_then_ends() -> None:
    broker = running()
    broker.begin_controlled_shutdown(100)
    gaps, now = [], 100
    for _ in range(3):
        assert broker.request_due(now) == HeartbeatDue(5, want_fence=False, want_shut_down=True)
        broker.heartbeat_answered(now, is_caught_up=True, is_fenced=False, should_shut_down=False)
        assert broker.wake_at is not None
        gaps.append(broker.wake_at - now)
        now = broker.wake_at
    assert gaps == [50, INTERVAL, INTERVAL]
    broker.request_due(now)
    broker.heartbeat_answered(now, is_caught_up=True, is_fenced=True, should_shut_down=True)
    assert broker.state is BrokerState.SHUTTING_DOWN
    assert broker.shut_down is Milestone.REACHED
    assert broker.unfenced is Milestone.REACHED


def test_a_broker_that_does_not_run_needs_no_controller_to_end() -> None:
    for broker in (BrokerLifecycle(), started()):
        broker.begin_controlled_shutdown(0)
        assert broker.state is BrokerState.SHUTTING_DOWN


def test_a_life_starts_once() -> None:
    with pytest.raises(RuntimeError, match="create another BrokerLifecycle"):
        started().start(0)
