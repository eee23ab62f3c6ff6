"""A controller that many threads use: one at a time."""

from collections.abc import Callable, Mapping
from threading import Event, RLock
from typing import Final, TypeVar

from logstore.topic_partition import TopicPartition
from replication.base.clock import monotonic_ms
from replication.cluster.classic import controller_events
from replication.cluster.controller.classic.commands.broker_queue import BrokerQueue
from replication.cluster.controller.classic.commands.commands import Command
from replication.cluster.controller.classic.controller import ClassicController, RunState
from replication.cluster.controller.classic.registered_broker import RegisteredBroker
from replication.cluster.controller.classic.settings import ClassicSettings
from replication.cluster.controller.classic.store.coordination_store import CoordinationStore
from replication.cluster.controller.classic.term import Term
from replication.wire.error_code import ErrorCode

T = TypeVar("T")


class GuardedController:
    """Holds the one lock; whoever waits for the coordination store holds up all others."""

    def __init__(
        self, broker_id: int, store: CoordinationStore, settings: ClassicSettings, own: RegisteredBroker
    ) -> None:
        """Create a controller that stands for no election yet."""
        self.broker_id = broker_id
        self.woken = Event()
        """That there is something to `process`."""
        self.changed: Callable[[], None] = lambda: None
        """Called under the lock after each decision: there may be commands to send, and other brokers to send to."""
        self._lock: Final = RLock()
        self._state = RunState.BROKER
        self._controller: Final = ClassicController(
            broker_id,
            store,
            settings,
            own=own,
            tell=controller_events.log_failed_change,
            wake=self.woken.set,
        )

    @property
    def state(self) -> RunState:
        """Whether it is the controller."""
        return self._state

    @property
    def epoch(self) -> int:
        """The controller epoch that it was elected with last."""
        return self._controller.epoch

    def start(self) -> None:
        """Stand for election."""
        self._do(lambda: self._controller.start(monotonic_ms()))

    def process(self) -> int | None:
        """Do what is due; return when to call again if nothing wakes it, or None."""
        self._do(lambda: self._controller.process(monotonic_ms()))
        return self._controller.wake_at

    def decide(self, make: Callable[[Term], T]) -> T:
        """Return what is decided in the controller's term. Raises Refusal where this is not the controller."""
        return self._do(lambda: self._controller.decide(make))

    def resign(self) -> None:
        """Stop being the controller, so that another can be at once."""
        self._do(self._controller.resign)

    def brokers(self) -> dict[int, tuple[RegisteredBroker, BrokerQueue]]:
        """Return the brokers that are commanded, by id; none while this is not the controller."""
        with self._lock:
            term = self._controller.term
            if term is None:
                return {}
            return {each: (term.context.registered[each], queue) for each, queue in term.outbox.queues.items()}

    # One broker's commands

    def take(self, queue: BrokerQueue) -> Command | None:
        """Return what is to be sent now."""
        with self._lock:
            return queue.take(monotonic_ms())

    def failed(self, queue: BrokerQueue) -> None:
        """Note that no answer came."""
        with self._lock:
            queue.failed(monotonic_ms())

    def answered(self, broker_id: int, queue: BrokerQueue, errors: Mapping[TopicPartition, ErrorCode]) -> None:
        """Handle an answer; one to a command of an earlier term, or for an earlier registration, is ignored."""
        with self._lock:
            if self._controller.queues.get(broker_id) is queue:
                self._controller.answered(broker_id, errors)

    def _do(self, work: Callable[[], T]) -> T:
        with self._lock:
            try:
                return work()
            finally:
                if self._controller.state is not self._state:
                    self._state = self._controller.state
                    controller_events.log_role(self._state, self._controller.epoch)
                self.changed()
