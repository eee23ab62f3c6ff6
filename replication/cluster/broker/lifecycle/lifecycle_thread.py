"""The thread that keeps a broker in its cluster: a thin shell around `BrokerLifecycle`."""

from collections.abc import Callable, Collection
from threading import Condition
from typing import Final
from uuid import UUID

from replication.base.clock import monotonic_ms
from replication.cluster.broker.broker_settings import SESSION_TIMEOUT_MS
from replication.cluster.broker.lifecycle.controller_channel import Channel
from replication.cluster.broker.lifecycle.errors import BrokerStoppedError, NotInTimeError, RefusedByControllerError
from replication.cluster.broker.lifecycle.lifecycle import BrokerLifecycle, BrokerState, HeartbeatDue, RequestDue
from replication.cluster.broker.lifecycle.lifecycle_observer import LifecycleObserver
from replication.cluster.broker.lifecycle.own_session import OwnSession
from replication.cluster.worker_thread import WorkerThread
from replication.wire.error_code import ErrorCode
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from replication.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse

_LATE_PART: Final = 4
"""A heartbeat is late once it has cost that part of a session."""


class LifecycleThread(WorkerThread):
    """Registers a broker, and sends its heartbeats until it has left (Kafka: BrokerLifecycleManager).

    Any thread may call anything.
    """

    def __init__(
        self,
        registration: BrokerRegistrationRequest,
        lifecycle: BrokerLifecycle,
        channel: Channel,
        metadata_offset: Callable[[], int],
        observer: LifecycleObserver,
        session: OwnSession | None = None,
        *,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
    ) -> None:
        """Own the lifecycle and channel. `metadata_offset` returns the highest offset that is replayed.

        `session` is given the heartbeats that were answered. A request is given up after half of `session_timeout_ms`
        (broker.session.timeout.ms), so that another one comes in time (KAFKA-14392).
        """
        super().__init__(f"broker-{registration.broker_id}-lifecycle")
        self.trouble = ""
        """Why the last request failed; "" where it did not."""
        self._registration = registration
        self._lifecycle = lifecycle
        self._channel = channel
        self._metadata_offset = metadata_offset
        self._observer = observer
        self._session = session or OwnSession()
        self._request_timeout_ms = max(1, session_timeout_ms // 2)
        self._late_ms = max(1, session_timeout_ms // _LATE_PART)
        self._asked_at = 0
        self._told = lifecycle.state
        self._is_fenced = True
        self._offline: frozenset[UUID] = frozenset()
        self._cordoned: tuple[UUID, ...] | None = None
        self._changed = Condition()

    # --- what happened here

    def start(self) -> None:
        """Begin to register. Raises RuntimeError where it was started before."""
        with self._changed:
            self._lifecycle.start(monotonic_ms())
            self._note_changes()
        super().start()

    def ready_to_unfence(self) -> None:
        """Note that logs are recovered and clients may come."""
        with self._changed:
            self._lifecycle.ready_to_unfence(monotonic_ms())
            self._changed.notify_all()

    def directory_failed(self, directory_id: UUID) -> None:
        """Report a directory as offline, from now on: its replicas are led elsewhere (KIP-858)."""
        with self._changed:
            self._offline |= {directory_id}
            self._lifecycle.heartbeat_soon(monotonic_ms())
            self._changed.notify_all()

    def cordon(self, directory_ids: Collection[UUID]) -> None:
        """Report, from now on, which directories are to get no new replicas; no effect before 4.3."""
        with self._changed:
            self._cordoned = tuple(directory_ids)
            self._lifecycle.heartbeat_soon(monotonic_ms())
            self._changed.notify_all()

    def resend_registration(self) -> None:
        """Register again as the same incarnation: at a later metadata.version the controller keeps more of it."""
        with self._changed:
            self._lifecycle.resend_registration(monotonic_ms())
            self._changed.notify_all()

    def begin_controlled_shutdown(self) -> None:
        """Ask the controller to move leaderships away; where it never gave any, stop."""
        with self._changed:
            self._lifecycle.begin_controlled_shutdown(monotonic_ms())
            self._note_changes()

    def stop(self, reason: str = "", *, wait: bool = True, until: float | None = None) -> None:
        """Send nothing any more, and end the thread."""
        with self._changed:
            self.trouble = reason or self.trouble
            self._lifecycle.begin_shutdown()
            self._note_changes()
        super().stop(wait=wait, until=until)

    # --- where it stands

    @property
    def state(self) -> BrokerState:
        """Where the broker stands."""
        return self._lifecycle.state

    @property
    def broker_epoch(self) -> int:
        """Under which it is registered; -1 before it is."""
        return self._lifecycle.broker_epoch

    @property
    def is_fenced(self) -> bool:
        """Whether the controller's last answer said so."""
        return self._is_fenced

    def wait_for(self, state: BrokerState, seconds: float) -> None:
        """Return once the broker is in this state, or in a later one but for SHUTTING_DOWN.

        Raises BrokerStoppedError where it stops instead, NotInTimeError after so many seconds.
        """
        if not self.reaches(state, seconds):
            raise NotInTimeError(self._registration.broker_id, seconds, self.standing)

    def reaches(self, state: BrokerState, seconds: float) -> bool:
        """Return whether `wait_for` would within so many seconds. Raises BrokerStoppedError where it stops instead."""
        with self._changed:
            is_reached = self._changed.wait_for(lambda: self._lifecycle.state >= state, seconds)
            found = self._lifecycle.state
            if found is BrokerState.SHUTTING_DOWN and state is not found:
                raise BrokerStoppedError(self._registration.broker_id, self.trouble)
            return is_reached

    @property
    def unfinished(self) -> str | None:
        """What kept the broker from leaving in order; None where it has."""
        if self.failure is not None:
            return str(self.failure)
        has_left = self._lifecycle.state is BrokerState.SHUTTING_DOWN and not self.trouble
        return None if has_left else self.trouble or "it has not moved all that this broker leads"

    @property
    def standing(self) -> str:
        """Its state, in words, and why the last request failed."""
        return f"{self._lifecycle.state.name}{f' ({self.trouble})' if self.trouble else ''}"

    # --- the thread

    def _wake(self) -> None:
        self._channel.close()

    def _round(self) -> None:
        due = self._next_due()
        if due is None:
            self.stop()
        else:
            self._exchange(due)

    def _next_due(self) -> RequestDue | None:
        """Return the next request when it is due; None at the end."""
        free_at = monotonic_ms()
        with self._changed:
            while True:
                due_at, now = self._lifecycle.wake_at, monotonic_ms()
                due = self._lifecycle.request_due(now)
                self._note_changes()
                if isinstance(due, HeartbeatDue) and due_at is not None:
                    self._note_lateness(now - max(due_at, free_at))
                if due is not None or self._lifecycle.state is BrokerState.SHUTTING_DOWN:
                    return due
                self._changed.wait(self._milliseconds_left() / 1_000)

    def _exchange(self, due: RequestDue) -> None:
        """Ask, as long as the answer is of use, and take the answer."""
        timeout_ms = self._request_timeout_ms
        if self._lifecycle.wake_at is not None:
            timeout_ms = min(timeout_ms, self._milliseconds_left())
        sent_at = self._asked_at = monotonic_ms()
        if isinstance(due, HeartbeatDue):
            answer = self._channel.ask(self._heartbeat(due), timeout_ms)
            self._take_heartbeat(answer)
            if answer.is_fenced:
                self._session.fenced(sent_at, monotonic_ms())
            else:
                self._session.heard(sent_at, monotonic_ms())
        else:
            self._take_registration(self._channel.ask(self._registration, timeout_ms))
            self._session.registered(sent_at)

    def _milliseconds_left(self) -> int:
        wake_at = self._lifecycle.wake_at
        return 1_000 if wake_at is None else max(1, wake_at - monotonic_ms())

    def _heartbeat(self, due: HeartbeatDue) -> BrokerHeartbeatRequest:
        return BrokerHeartbeatRequest(
            broker_id=self._registration.broker_id,
            broker_epoch=due.broker_epoch,
            current_metadata_offset=self._metadata_offset(),
            want_fence=due.want_fence,
            want_shut_down=due.want_shut_down,
            offline_log_dirs=tuple(sorted(self._offline)),
            cordoned_log_dirs=self._cordoned,
        )

    def _take_registration(self, answer: BrokerRegistrationResponse) -> None:
        self._refuse(answer.error, "a registration")
        with self._changed:
            self._note_answer()
            self._lifecycle.registered(monotonic_ms(), answer.broker_epoch)
            self._observer.registered(answer.broker_epoch)
            self._changed.notify_all()

    def _take_heartbeat(self, answer: BrokerHeartbeatResponse) -> None:
        self._refuse(answer.error, "a heartbeat")
        with self._changed:
            self._note_answer()
            self._lifecycle.heartbeat_answered(
                monotonic_ms(),
                is_caught_up=answer.is_caught_up,
                is_fenced=answer.is_fenced,
                should_shut_down=answer.should_shut_down,
            )
            self._note_changes()
            self._note_fencing(is_fenced=answer.is_fenced)

    def _refuse(self, error: ErrorCode, asked: str) -> None:
        if error is not ErrorCode.NONE:
            raise RefusedByControllerError(self._registration.broker_id, asked, error, self._channel.address)

    def _lost(self, error: Exception) -> None:
        """Handle a missing answer or a refusal; the lifecycle decides when to ask again.

        An interval after it was asked: what was waited for in vain has cost enough of the session.
        """
        with self._changed:
            self._lifecycle.request_failed(self._asked_at)
            if self._lifecycle.state is BrokerState.SHUTTING_DOWN:
                return
            self.trouble = str(error)
            self._observer.refused(error)

    def _give_up(self, error: BaseException) -> None:
        self.failure = error
        self.stop(f"{type(error).__name__}: {error}")

    def _note_lateness(self, late_ms: int) -> None:
        """Report when this thread did not run in time: the controller may fence the broker for that."""
        if late_ms >= self._late_ms:
            self._observer.late(late_ms)
        else:
            self._observer.in_time()

    def _note_answer(self) -> None:
        if self.trouble:
            self.trouble = ""
            self._observer.answered()

    def _note_fencing(self, *, is_fenced: bool) -> None:
        if is_fenced == self._is_fenced:
            return
        self._is_fenced = is_fenced
        if not is_fenced:
            self._observer.unfenced()
        elif self._lifecycle.state is BrokerState.RUNNING:
            self._observer.fenced()

    def _note_changes(self) -> None:
        self._changed.notify_all()
        if self._lifecycle.state is not self._told:
            self._told = self._lifecycle.state
            self._observer.state_changed(self._told)
