"""How a broker joins a cluster, stays in it and leaves it: the states between its start and its end, without I/O.

A shell around `BrokerLifecycle` sends what `request_due` returns and passes on what was answered:

    lifecycle.start(now)
    while lifecycle.state is not BrokerState.SHUTTING_DOWN:
        match lifecycle.request_due(now):
            case RegistrationDue(): ...         # BrokerRegistration, then registered or request_failed
            case HeartbeatDue() as heartbeat: ...  # BrokerHeartbeat, then heartbeat_answered or request_failed
            case None: ...                      # wait until lifecycle.wake_at, or for an event

Times are milliseconds of a clock that never goes back.
"""

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Final, TypeAlias

NO_BROKER_EPOCH: Final = -1

_STARTING_GAP_MS: Final = 10
"""A broker with nothing to recover should be up soon."""
_FIRST_SHUTDOWN_GAP_MS: Final = 50
"""Leaderships mostly move at once."""


class BrokerState(IntEnum):
    """The state of a broker, with the values of Kafka's metric (Kafka: BrokerState)."""

    NOT_RUNNING = 0
    STARTING = 1
    """Registering and catching up with the metadata."""
    RECOVERY = 2
    """Caught up; recovering logs, and not unfenced yet."""
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    """The controller is moving its leaderships away."""
    SHUTTING_DOWN = 7


class Milestone(Enum):
    """Whether something that others wait for has happened."""

    AHEAD = "ahead"
    REACHED = "reached"
    CANCELLED = "cancelled"
    """It will not happen any more."""


@dataclass(frozen=True, slots=True)
class RegistrationDue:
    """Send BrokerRegistration, always with the incarnation id of this start."""


@dataclass(frozen=True, slots=True)
class HeartbeatDue:
    """Send BrokerHeartbeat with these fields, and with the highest metadata offset that is replayed."""

    broker_epoch: int
    want_fence: bool
    want_shut_down: bool


RequestDue: TypeAlias = RegistrationDue | HeartbeatDue


class BrokerLifecycle:
    """The states of one start of a broker (Kafka: BrokerLifecycleManager, as of 4.3).

    One request is in flight at most: what is urgent waits for the answer, and goes right after it.
    """

    def __init__(self, *, heartbeat_interval_ms: int = 2000, initial_registration_timeout_ms: int = 60_000) -> None:
        """`broker.heartbeat.interval.ms` and `initial.broker.registration.timeout.ms`."""
        self.state: BrokerState = BrokerState.NOT_RUNNING
        self.broker_epoch: int = NO_BROKER_EPOCH
        self.caught_up: Milestone = Milestone.AHEAD
        """The metadata was replayed up to this broker's registration."""
        self.unfenced: Milestone = Milestone.AHEAD
        self.shut_down: Milestone = Milestone.AHEAD
        """Nothing is led any more, or nobody waits for that."""
        self._heartbeat_interval_ms = heartbeat_interval_ms
        self._initial_registration_timeout_ms = initial_registration_timeout_ms
        self._give_up_at: int | None = None
        self._send_at: int | None = None
        self._in_flight = False
        self._send_after_answer = False
        self._registered = False
        self._ready_to_unfence = False
        self._shutdown_answered = False

    # What to do

    @property
    def wake_at(self) -> int | None:
        """When to ask `request_due` again; None where only an event can change anything."""
        times = [time for time in (self._send_at, self._give_up_at) if time is not None]
        return min(times, default=None)

    def request_due(self, now: int) -> RequestDue | None:
        """Return the request to send now, which then counts as in flight."""
        if self._give_up_at is not None and now >= self._give_up_at:
            self.begin_shutdown()
        if self._send_at is None or now < self._send_at:
            return None
        self._send_at = None
        if self._in_flight:
            self._send_after_answer = True
            return None
        self._in_flight = True
        if not self._registered:
            return RegistrationDue()
        return HeartbeatDue(
            self.broker_epoch,
            want_fence=not self._ready_to_unfence,
            want_shut_down=self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN,
        )

    # What happened here

    def start(self, now: int) -> None:
        """Begin to register.

        Raises RuntimeError where it was started before: another start is another incarnation.
        """
        if self.state is not BrokerState.NOT_RUNNING:
            raise RuntimeError(f"the broker is {self.state.name}; create another BrokerLifecycle to start again")
        self.state = BrokerState.STARTING
        self._give_up_at = now + self._initial_registration_timeout_ms
        self._send_at = now

    def ready_to_unfence(self, now: int) -> None:
        """Note that logs are recovered and clients may come."""
        self._ready_to_unfence = True
        self._send_soon(now)

    def begin_controlled_shutdown(self, now: int) -> None:
        """Ask the controller to move leaderships away; where it never gave any, shut down."""
        if self.state is BrokerState.RUNNING:
            self.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
            self._send_soon(now)
        elif self.state is not BrokerState.PENDING_CONTROLLED_SHUTDOWN:
            self.begin_shutdown()

    def begin_shutdown(self) -> None:
        """Stop at once: no request is sent any more."""
        self.state = BrokerState.SHUTTING_DOWN
        self.shut_down = Milestone.REACHED
        self.caught_up = _cancelled(self.caught_up)
        self.unfenced = _cancelled(self.unfenced)
        self._send_at = self._give_up_at = None

    def heartbeat_soon(self, now: int) -> None:
        """Send the next heartbeat at once, as something has changed, such as a directory that failed."""
        if self._registered:
            self._send_soon(now)

    def resend_registration(self, now: int) -> None:
        """Register again as the same incarnation, with what changed."""
        self._registered = False
        self._send_soon(now)

    # What the controller said

    def registered(self, now: int, broker_epoch: int) -> None:
        """Handle the answer to a registration that was accepted."""
        self._in_flight = False
        if self.state is BrokerState.SHUTTING_DOWN:
            return
        self.broker_epoch = broker_epoch
        self._registered = True
        self._give_up_at = None
        self._send_in(now, 0)

    def heartbeat_answered(self, now: int, *, is_caught_up: bool, is_fenced: bool, should_shut_down: bool) -> None:
        """Handle the answer to a heartbeat that was accepted."""
        self._in_flight = False
        match self.state:
            case BrokerState.STARTING:
                if is_caught_up:
                    self.state = BrokerState.RECOVERY
                    self.caught_up = Milestone.REACHED
                self._send_in(now, _STARTING_GAP_MS)
            case BrokerState.RECOVERY:
                if not is_fenced:
                    self.state = BrokerState.RUNNING
                    self.unfenced = Milestone.REACHED
                self._send_in(now, self._heartbeat_interval_ms)
            case BrokerState.RUNNING:
                self._send_in(now, self._heartbeat_interval_ms)
            case BrokerState.PENDING_CONTROLLED_SHUTDOWN:
                self._shutdown_progressed(now, done=should_shut_down)

    def request_failed(self, now: int) -> None:
        """Handle an error in place of an answer: any error code, a connection that broke, a time-out.

        The broker stays what it is, and tries again a heartbeat interval after `now`, however urgent it was.
        """
        self._in_flight = False
        self._send_after_answer = False
        if self.state is not BrokerState.SHUTTING_DOWN:
            self._send_in(now, self._heartbeat_interval_ms)

    def _shutdown_progressed(self, now: int, *, done: bool) -> None:
        if done:
            self.begin_shutdown()
            return
        self._send_in(now, self._heartbeat_interval_ms if self._shutdown_answered else _FIRST_SHUTDOWN_GAP_MS)
        self._shutdown_answered = True

    def _send_soon(self, now: int) -> None:
        if self.state not in {BrokerState.NOT_RUNNING, BrokerState.SHUTTING_DOWN}:
            self._send_in(now, 0)

    def _send_in(self, now: int, milliseconds: int) -> None:
        """Send then; at once where something urgent waited for an answer. Of several times, the last counts."""
        if self._in_flight:
            self._send_after_answer = True
            return
        self._send_at = now if self._send_after_answer else now + milliseconds
        self._send_after_answer = False


def _cancelled(milestone: Milestone) -> Milestone:
    return Milestone.CANCELLED if milestone is Milestone.AHEAD else milestone
