"""The thread that sends what the lifecycle wants: one request at a time, whatever the controller answers."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest

from replication.base.clock import monotonic_ms
from replication.cluster.broker.lifecycle import lifecycle_thread
from replication.cluster.broker.lifecycle.errors import BrokerStoppedError, NoControllerError, NotInTimeError
from replication.cluster.broker.lifecycle.lifecycle import BrokerLifecycle, BrokerState
from replication.cluster.broker.lifecycle.lifecycle_thread import LifecycleThread
from replication.cluster.broker.lifecycle.own_session import OwnSession
from replication.wire.error_code import ErrorCode
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from replication.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from tests.replication.cluster.broker.lifecycle.scripted_channel import ScriptedChannel
from tests.replication.cluster.broker.lifecycle.scripted_controller import REGISTRATION, alive, registered
from tests.replication.cluster.broker.member import SECONDS, Ear

INTERVAL_MS = 20
DISK = UUID(int=1_000)
STALE = BrokerHeartbeatResponse(
    error=ErrorCode.STALE_BROKER_EPOCH, is_caught_up=False, is_fenced=True, should_shut_down=False
)
DUPLICATE = BrokerRegistrationResponse(error=ErrorCode.DUPLICATE_BROKER_REGISTRATION, broker_epoch=-1)


@contextmanager
def started(
    ear: Ear | None = None, session: OwnSession | None = None, *, session_timeout_ms: int = 9_000, **timing: int
) -> Iterator[tuple[LifecycleThread, ScriptedChannel]]:
    channel: Any = ScriptedChannel()
    lifecycle = BrokerLifecycle(**({"heartbeat_interval_ms": INTERVAL_MS} | timing))
    thread = LifecycleThread(
        REGISTRATION, lifecycle, channel, lambda: 42, ear or Ear(), session, session_timeout_ms=session_timeout_ms
    )
    thread.start()
    try:
        yield thread, channel
    finally:
        thread.stop()
        assert not thread._thread.is_alive()


def run(thread: LifecycleThread, channel: ScriptedChannel) -> None:
    channel.expect(BrokerRegistrationRequest, registered())
    thread.ready_to_unfence()
    channel.answer_until(BrokerState.RUNNING, thread, alive())


def test_it_registers_and_sends_heartbeats_in_its_epoch_with_its_offset() -> None:
    ear = Ear()
    with started(ear) as (thread, channel):
        assert channel.expect(BrokerRegistrationRequest, registered(7)) is REGISTRATION
        heartbeat = channel.expect(BrokerHeartbeatRequest, alive(fenced=True))
        assert (heartbeat.broker_id, heartbeat.broker_epoch, heartbeat.current_metadata_offset) == (9, 7, 42)
        assert heartbeat.want_fence
        thread.wait_for(BrokerState.RECOVERY, SECONDS)
        assert ear.epochs == [7]
        assert thread.is_fenced


def test_a_refusal_is_told_with_advice_and_the_registration_sent_again() -> None:
    ear = Ear()
    with started(ear) as (thread, channel):
        channel.expect(BrokerRegistrationRequest, DUPLICATE)
        channel.expect(BrokerRegistrationRequest, registered())
        channel.requests.get(timeout=SECONDS)
        assert thread.trouble == ""
        channel.answer(alive())
        (refusal,) = ear.refusals
        assert "controller:9093: broker 9 asks for a registration: DUPLICATE_BROKER_REGISTRATION" in str(refusal)
        assert "stop it or choose another id" in str(refusal)
        thread.wait_for(BrokerState.RECOVERY, SECONDS)


@pytest.mark.parametrize("failure", [STALE, NoControllerError("nobody"), ConnectionResetError("gone")])
def test_after_a_failed_heartbeat_it_stays_registered_and_sends_another(failure: object) -> None:
    ear = Ear()
    with started(ear) as (thread, channel):
        run(thread, channel)
        assert ear.answers == []
        channel.expect(BrokerHeartbeatRequest, failure)
        channel.expect(BrokerHeartbeatRequest, alive())
        channel.expect(BrokerHeartbeatRequest, alive())
        channel.requests.get(timeout=SECONDS)
        channel.answer(alive())
        assert thread.state is BrokerState.RUNNING
        assert len(ear.refusals) == len(ear.answers) == 1
        assert ear.epochs == [5]


@pytest.mark.parametrize("session_timeout_ms", [9_000, 2_000])
def test_an_answer_is_waited_for_no_longer_than_half_a_session(session_timeout_ms: int) -> None:
    with started(session_timeout_ms=session_timeout_ms) as (thread, channel):
        run(thread, channel)
        channel.expect(BrokerHeartbeatRequest, alive())
    assert set(channel.timeouts) == {session_timeout_ms // 2}


def test_what_was_waited_for_as_long_as_an_interval_is_asked_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    interval_ms, now = 3_600_000, [monotonic_ms()]
    with started(heartbeat_interval_ms=interval_ms) as (thread, channel):
        run(thread, channel)
        monkeypatch.setattr(lifecycle_thread, "monotonic_ms", lambda: now[0])
        thread.directory_failed(DISK)
        channel.requests.get(timeout=SECONDS)
        now[0] += interval_ms
        channel.answer(NoControllerError("nobody"))
        channel.expect(BrokerHeartbeatRequest, alive())


def test_what_comes_while_a_request_is_in_flight_waits_for_the_answer() -> None:
    with started(heartbeat_interval_ms=3_600_000) as (thread, channel):
        channel.expect(BrokerRegistrationRequest, registered())
        thread.ready_to_unfence()
        thread.directory_failed(DISK)
        thread.cordon([DISK])
        while True:
            heartbeat = channel.expect(BrokerHeartbeatRequest, alive(fenced=True))
            if heartbeat.offline_log_dirs and heartbeat.cordoned_log_dirs and not heartbeat.want_fence:
                break
        assert heartbeat.offline_log_dirs == heartbeat.cordoned_log_dirs == (DISK,)
        assert channel.requests.empty(), "one is in flight"


def test_a_directory_that_fails_is_told_at_once() -> None:
    with started(heartbeat_interval_ms=3_600_000) as (thread, channel):
        run(thread, channel)
        thread.directory_failed(DISK)
        assert channel.expect(BrokerHeartbeatRequest, alive()).offline_log_dirs == (DISK,)


def test_all_can_be_said_again_in_the_same_epoch() -> None:
    ear = Ear()
    with started(ear, heartbeat_interval_ms=3_600_000) as (thread, channel):
        run(thread, channel)
        thread.resend_registration()
        channel.expect(BrokerRegistrationRequest, registered())
        channel.expect(BrokerHeartbeatRequest, alive())
        assert thread.state is BrokerState.RUNNING
        assert ear.epochs == [5, 5]


def test_fencing_is_told_while_it_runs_and_not_when_it_leaves() -> None:
    ear = Ear()
    with started(ear) as (thread, channel):
        run(thread, channel)
        channel.expect(BrokerHeartbeatRequest, alive(fenced=True))
        channel.expect(BrokerHeartbeatRequest, alive())
        ear.wait_for(lambda: len(ear.fencings) == 3)
        thread.begin_controlled_shutdown()
        while not channel.expect(BrokerHeartbeatRequest, alive()).want_shut_down:
            pass
        channel.expect(BrokerHeartbeatRequest, alive(fenced=True, should_shut_down=True))
        thread.wait_for(BrokerState.SHUTTING_DOWN, SECONDS)
        assert ear.fencings == ["unfenced", "fenced", "unfenced"]


def test_an_answer_that_says_that_it_is_fenced_does_not_make_its_session_last() -> None:
    session = OwnSession(3_600_000)
    with started(session=session) as (thread, channel):
        run(thread, channel)
        channel.expect(BrokerHeartbeatRequest, alive())  # by now the answer before is taken
        assert session.heard_at is not None
        assert session.renewed_at == -1
        for _ in range(2):
            channel.expect(BrokerHeartbeatRequest, alive(fenced=True))
        channel.expect(BrokerHeartbeatRequest, alive())
        assert session.heard_at is None
        channel.expect(BrokerHeartbeatRequest, alive())
        assert session.renewed_at >= session.heard_at >= 0


def test_a_start_that_fails_for_too_long_ends_and_says_why() -> None:
    ear = Ear()
    with started(ear, initial_registration_timeout_ms=200) as (thread, channel):
        channel.answer_until(BrokerState.SHUTTING_DOWN, thread, DUPLICATE)
        with pytest.raises(BrokerStoppedError, match=r"broker 9 has stopped: controller:9093: .* DUPLICATE"):
            thread.wait_for(BrokerState.RECOVERY, SECONDS)
    assert all(timeout is not None and timeout <= 200 for timeout in channel.timeouts), "a later answer is of no use"
    assert ear.states[-1] is BrokerState.SHUTTING_DOWN


def test_who_waits_is_told_where_it_stands() -> None:
    with started() as (thread, channel):
        channel.expect(BrokerRegistrationRequest, DUPLICATE)
        channel.requests.get(timeout=SECONDS)
        with pytest.raises(NotInTimeError, match=r"broker 9 is STARTING \(controller:9093.*\) after 0.01 s"):
            thread.wait_for(BrokerState.RUNNING, 0.01)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_fault_of_ours_ends_it() -> None:
    with started() as (thread, channel):
        channel.expect(BrokerRegistrationRequest, ZeroDivisionError("a fault"))
        with pytest.raises(BrokerStoppedError, match="ZeroDivisionError: a fault"):
            thread.wait_for(BrokerState.RECOVERY, SECONDS)


def test_it_starts_once() -> None:
    with started() as (thread, _), pytest.raises(RuntimeError, match="to start again"):
        thread.start()


class _Lateness(Ear):
    def __init__(self) -> None:
        super().__init__()
        self.late_ms: list[int] = []

    def late(self, late_ms: int) -> None:
        self.late_ms.append(late_ms)


def test_a_heartbeat_that_is_sent_long_after_it_was_due_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    ear, now = _Lateness(), [monotonic_ms()]
    with started(ear, heartbeat_interval_ms=3_600_000) as (thread, channel):
        run(thread, channel)
        monkeypatch.setattr(lifecycle_thread, "monotonic_ms", lambda: now[0])
        thread.directory_failed(DISK)
        channel.expect(BrokerHeartbeatRequest, alive())
        assert ear.late_ms == []
        due_at, until = now[0] + 3_600_000, time.monotonic() + SECONDS
        while thread._lifecycle.wake_at != due_at and time.monotonic() < until:
            time.sleep(0.01)
        now[0] = due_at + 5_000
        with thread._changed:
            thread._changed.notify_all()
        channel.expect(BrokerHeartbeatRequest, alive())
    assert len(ear.late_ms) == 1
    assert ear.late_ms[0] >= 5_000
