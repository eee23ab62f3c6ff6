"""A broker that may be the controller of a ZooKeeper-era cluster (Kafka: KafkaController).

It holds no thread, socket or clock. A process around it calls `start` once, then

    controller.process(now)             # whenever `wake` was called, and when `wake_at` has come
    command = queue.take(now)           # for each of controller.queues: what to send to that broker
    controller.answered(broker_id)      # or queue.failed(now)

in one thread, or under one lock. Times are milliseconds of a clock that never goes back.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeVar

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic import events
from replication.cluster.controller.classic.commands.broker_queue import BrokerQueue
from replication.cluster.controller.classic.commands.commands import StopReplicaRequest
from replication.cluster.controller.classic.context import StateChange
from replication.cluster.controller.classic.errors import (
    ControllerMovedError,
    CoordinationError,
    SessionLostError,
    TakeOverError,
)
from replication.cluster.controller.classic.registered_broker import RegisteredBroker
from replication.cluster.controller.classic.settings import ClassicSettings
from replication.cluster.controller.classic.store.cluster_store import ClusterStore
from replication.cluster.controller.classic.store.coordination_store import CoordinationStore
from replication.cluster.controller.classic.store.watches import Watches
from replication.cluster.controller.classic.term import Term
from replication.cluster.controller.elections import ElectionAnswer
from replication.cluster.controller.refusal import Refusal
from replication.wire.error_code import ErrorCode
from replication.wire.messages.elect_leaders import ElectionType

FIRST_BALANCE_MS: Final = 5000
"""After an election."""
T = TypeVar("T")
_DEFAULTS: Final = ClassicSettings()
_NO_ERRORS: Final[Mapping[TopicPartition, ErrorCode]] = MappingProxyType({})


class RunState(Enum):
    """What a broker is in the cluster; the values are Kafka's names."""

    BROKER = "RunningAsBroker"
    CONTROLLER = "RunningAsController"


class ClassicController:
    """One broker's; of all that run over the same store, one at most is the controller."""

    def __init__(
        self,
        broker_id: int,
        store: CoordinationStore,
        settings: ClassicSettings = _DEFAULTS,
        *,
        own: RegisteredBroker | None = None,
        tell: Callable[[StateChange], None] = lambda _: None,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        """Get told each state change, and, in any thread, that there is something to `process`.

        A broker registers by itself. A controller that is none gives its `own` registration, which is there while it
        is the controller: brokers look among each other for it. It holds no replicas then.
        """
        self.broker_id = broker_id
        self.term: Term | None = None
        """What it decides while it is the controller."""
        self.wake_at: int | None = None
        """When to balance leaders next."""
        self._settings = settings
        self._tell = tell
        self._wake = wake
        self._events: deque[events.Event] = deque()
        self._watches = Watches(self._put)
        self._own = own
        self._store = ClusterStore(store, broker_id, own)
        store.watch_session(lambda alive: self._put(events.SessionChanged(alive)))

    @property
    def state(self) -> RunState:
        """Whether this broker is the controller."""
        return RunState.BROKER if self.term is None else RunState.CONTROLLER

    @property
    def epoch(self) -> int:
        """The controller epoch that it was elected with last."""
        return self._store.epoch

    @property
    def queues(self) -> Mapping[int, BrokerQueue]:
        """What is to be sent, by broker; none while this broker is not the controller."""
        return {} if self.term is None else self.term.outbox.queues

    def start(self, now: int) -> None:
        """Stand for election as controller; where the session ends meanwhile, with the next one."""
        with suppress(ControllerMovedError, SessionLostError):
            self._store.prepare()
            self._compete(now)

    def process(self, now: int) -> None:
        """Do what the events ask for, and balance leaders when it is time.

        Raises MalformedNodeError where the store has what Kafka did not write; everything else is still done
        when this is called again.
        """
        while self._events:
            event = self._events.popleft()
            with suppress(ControllerMovedError, SessionLostError), self._resigning():
                self._handle(event, now)
        if self.term is not None and self.wake_at is not None and now >= self.wake_at:
            self.wake_at = now + self._settings.leader_imbalance_check_interval_ms
            with suppress(ControllerMovedError, SessionLostError), self._resigning():
                self.term.balance()

    def resign(self) -> None:
        """Stop being the controller, so that another broker can be."""
        if self.term is None:
            return
        self.term, self.wake_at = None, None
        self._store.unregister()
        self._store.give_up_slot()

    def decide(self, make: Callable[[Term], T]) -> T:
        """Return what is decided in the controller's term. Raises Refusal where this is not the controller."""
        with self._asked() as term:
            return make(term)

    # Requests; each raises Refusal with NOT_CONTROLLER where another broker is to be asked

    def elect_leaders(
        self, election_type: ElectionType, partitions: Iterable[TopicPartition] | None
    ) -> list[ElectionAnswer]:
        """Answer an admin client that asks for elections, of all partitions with None."""
        with self._asked() as term:
            return term.elect_leaders(election_type, partitions)

    def reassign(self, partition: TopicPartition, target: tuple[int, ...] | None) -> None:
        """Move a partition to other brokers, or cancel that (None). Raises Refusal (KIP-455)."""
        with self._asked() as term:
            term.reassign(partition, target)

    def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> list[TopicPartition]:
        """Move leaderships from a broker about to stop; return what it still leads, for it to ask again.

        Raises Refusal with STALE_BROKER_EPOCH, BROKER_NOT_AVAILABLE.
        """
        with self._asked() as term:
            return term.shut_down(broker_id, broker_epoch)

    def answered(self, broker_id: int, errors: Mapping[TopicPartition, ErrorCode] = _NO_ERRORS) -> None:
        """Handle a broker's answer, with errors of partitions; one from a broker that is gone is ignored."""
        queue = self.queues.get(broker_id)
        command = None if queue is None else queue.answered()
        if not isinstance(command, StopReplicaRequest):
            return
        deleted = [each for each, stop in command.partitions.items() if stop.delete]
        if deleted:
            outcomes = {each: errors.get(each, ErrorCode.NONE) for each in deleted}
            self._put(events.StopReplicaAnswered(broker_id, outcomes))

    # What happens inside

    def _put(self, event: events.Event) -> None:
        self._events.append(event)
        self._wake()

    def _handle(self, event: events.Event, now: int) -> None:
        if isinstance(event, events.ControllerChanged):
            self._controller_changed(now)
        elif isinstance(event, events.SessionChanged):
            self._session_changed(event, now)
        elif self.term is not None:
            _decide(self.term, event)

    def _controller_changed(self, now: int) -> None:
        if self._store.controller() != self.broker_id:
            self.resign()
        self._compete(now)

    def _session_changed(self, event: events.SessionChanged, now: int) -> None:
        self.resign()
        if event.alive:
            self.start(now)

    def _compete(self, now: int) -> None:
        """Claim the controller's slot if it is free; else watch for when it is."""
        while self._store.controller(self._watches.controller) is None:
            if self._store.become_controller():
                self._take_over(now)

    def _take_over(self, now: int) -> None:
        term = Term(self.broker_id, self._store, self._settings, self._watches, self._tell, self._own)
        try:
            self._store.register()
            term.begin()
        except BaseException as error:
            self._store.unregister()
            self._store.give_up_slot()
            if isinstance(error, CoordinationError) and not isinstance(error, SessionLostError):
                raise TakeOverError(self.broker_id, error) from error
            raise
        self.term = term
        if self._settings.auto_leader_rebalance_enable:
            self.wake_at = now + FIRST_BALANCE_MS

    @contextmanager
    def _resigning(self) -> Iterator[None]:
        """Stop being the controller where the store says that another broker is, or no longer listens."""
        try:
            yield
        except (ControllerMovedError, SessionLostError):
            self.resign()
            raise

    @contextmanager
    def _asked(self) -> Iterator[Term]:
        not_controller = Refusal(ErrorCode.NOT_CONTROLLER, f"Broker {self.broker_id} is not the controller.")
        if self.term is None:
            raise not_controller
        try:
            with self._resigning():
                yield self.term
        except (ControllerMovedError, SessionLostError) as error:
            raise not_controller from error


def _decide(term: Term, event: events.Event) -> None:
    match event:
        case events.BrokersChanged():
            term.brokers_changed()
        case events.TopicsChanged():
            term.topics_changed()
        case events.PartitionsChanged(topic):
            term.partitions_changed(topic)
        case events.DeletionAsked():
            term.deletion_asked()
        case events.ReassignmentAsked():
            term.start_wanted_reassignments()
        case events.PreferredElectionAsked():
            term.elect_as_stored()
        case events.IsrChangeNoticed():
            term.isr_change_noticed()
        case events.ReassignedIsrChanged(partition):
            term.reassigned_isr_changed(partition)
        case events.StopReplicaAnswered(broker_id, errors):
            term.replicas_deleted(broker_id, errors)
