"""One life of a broker of a simulated cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final
from uuid import UUID

from logstore.directory.log_directories import LogDirectories
from logstore.files.clean_shutdown import UNKNOWN_BROKER_EPOCH
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.broker_settings import SUPPORTED_FEATURES
from replication.cluster.broker.lifecycle.errors import BrokerStoppedError
from replication.cluster.broker.lifecycle.lifecycle import BrokerLifecycle, BrokerState, HeartbeatDue
from replication.cluster.broker.lifecycle.own_session import OwnSession
from replication.cluster.broker.replicas.replica_manager import ReplicaManager
from replication.cluster.broker.replicas.topic_settings import TopicSettings
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.fetcher.fetcher_settings import FetcherSettings, FetchIdentity
from replication.cluster.node.asking.directory_assignments import DirectoryAssignments
from replication.cluster.node.asking.isr_queue import IsrQueue
from replication.cluster.node.metadata_feed import MetadataNews
from replication.cluster.node.own_metadata import OwnMetadata
from replication.cluster.node.session_guard import SessionGuard
from replication.records.metadata.image import ClusterImage
from replication.testing.links import CONTROLLER
from replication.testing.simulated.metadata_poll import MetadataPoll
from replication.testing.simulated.network import Network, Reply
from replication.testing.simulated.process import Alarm, Process
from replication.testing.simulated.served_requests import LISTENER, ServedRequests
from replication.testing.simulated.simulated_asking import SimulatedAsking
from replication.testing.simulated.simulated_channel import SimulatedChannel
from replication.testing.simulated.simulated_fetchers import FetchingProcess, SimulatedFetchers
from replication.testing.simulated.simulated_ranges import SimulatedRanges
from replication.wire.error_code import ErrorCode
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from replication.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Listener,
)

_NEVER_MS: Final = 1 << 40
_AGAIN_MS: Final = 50
_PERIOD_MS: Final = 1_000
_LAG_CHECKS: Final = 2
_PORT: Final = 9092


def _nothing() -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerTimes:
    """Milliseconds."""

    heartbeat_ms: int
    session_ms: int
    lag_ms: int
    timeout_ms: int
    shutdown_ms: int


class SimulatedBroker:
    """Registers, hears the metadata, leads and follows: what a broker's threads do, event by event."""

    def __init__(
        self,
        directories: LogDirectories,
        directory_id: UUID,
        network: Network,
        random: Random,
        times: BrokerTimes,
        *,
        ended: Callable[[], object],
    ) -> None:
        """Begin to register; `ended` is called once it has stopped in order, or another process has its place."""
        self.process: Final = Process(network.timeline)
        self.identity: Final = BrokerIdentity.of(directories)
        self.directories: Final = directories
        self.image: ClusterImage = ClusterImage()
        """The metadata that it has applied."""
        self.applied_offset: int = -1
        self.replicas: ReplicaManager | None = None
        """None before it is registered."""
        self._directory_id: Final = directory_id
        self._network: Final = network
        self._random: Final = random
        self._times: Final = times
        self._ended: Final = ended
        self._served: ServedRequests | None = None
        self._is_ready = False
        """Whether it was said that it may be unfenced."""
        self._placed: Callable[[], None] = _nothing
        self._lifecycle: Final = BrokerLifecycle(
            heartbeat_interval_ms=times.heartbeat_ms, initial_registration_timeout_ms=_NEVER_MS
        )
        self._session: Final = OwnSession(times.session_ms)
        self._registration: Final = self._registration_request()
        self._own_metadata: Final = OwnMetadata(self.broker_id)
        self._to_controller: Final = self._channel(arrives_late=True)
        self._metadata: Final = self._channel()
        self._next: Final = Alarm(self.process, self._live_on)
        self._lag: Final = Alarm(self.process, self._check_lag)
        self._upkeep: Final = Alarm(self.process, self._keep_up)
        self._upkeep.set_in(_PERIOD_MS)
        self._lifecycle.start(self.process.now_ms)
        self._next.set(self._lifecycle.wake_at)

    @property
    def broker_id(self) -> int:
        """Which broker it is."""
        return self.identity.broker_id

    @property
    def is_running(self) -> bool:
        """Whether the controller counts on it, as far as it knows."""
        return self._lifecycle.state is BrokerState.RUNNING

    @property
    def is_leaving(self) -> bool:
        """Whether it is about to stop in order."""
        return self._lifecycle.state >= BrokerState.PENDING_CONTROLLED_SHUTDOWN

    def serve(self, request: Any, reply: Reply) -> None:
        """Answer a client or another broker, once there is metadata to answer by."""
        if self._served is not None and self.applied_offset >= 0:
            self._served.serve(request, reply)

    def answer_now(self, request: Any) -> Any:
        """Return the answer to a request that waits for nothing; None before there is metadata to answer by."""
        return None if self._served is None or self.applied_offset < 0 else self._served.answer_now(request)

    def leave(self) -> None:
        """Hand over what it leads, and end then, or after a while."""
        self._lifecycle.begin_controlled_shutdown(self.process.now_ms)
        self.process.after(self._times.shutdown_ms, self._lifecycle.begin_shutdown)
        self.process.after(self._times.shutdown_ms, self._live_on)
        self._live_on()

    def close(self) -> None:
        """End it in order: all that it has is safe."""
        self.end()
        is_whole = self.replicas is not None and not self.replicas.has_lost_tail
        self.directories.broker_epoch = self._lifecycle.broker_epoch if is_whole else UNKNOWN_BROKER_EPOCH
        self.directories.close()

    def abandon(self) -> None:
        """End it at once."""
        self.end()
        self.directories.abandon()

    def end(self) -> None:
        """Lead and follow nothing any more."""
        self.process.end()
        if self.replicas is not None:
            self.replicas.close()

    # --- its place in the cluster

    def _registration_request(self) -> BrokerRegistrationRequest:
        listener = Listener(LISTENER, f"broker-{self.broker_id}", _PORT)
        return self.identity.registration(UUID(int=self._random.getrandbits(128)), (listener,), SUPPORTED_FEATURES)

    def _channel(self, *, arrives_late: bool = False) -> SimulatedChannel:
        nodes, timeout_ms = (self.identity.broker_id, CONTROLLER), self._times.timeout_ms
        return SimulatedChannel(self._network, self.process, nodes, timeout_ms=timeout_ms, arrives_late=arrives_late)

    def _live_on(self) -> None:
        now = self.process.now_ms
        due = self._lifecycle.request_due(now)
        if self._lifecycle.state is BrokerState.SHUTTING_DOWN:
            self._ended()
            return
        if isinstance(due, HeartbeatDue):
            self._to_controller.ask(self._heartbeat(due), partial(self._heartbeat_answered, now), self._not_answered)
        elif due is not None:
            self._to_controller.ask(self._registration, partial(self._registered, now), self._not_answered)
        self._next.set(self._lifecycle.wake_at)

    def _heartbeat(self, due: HeartbeatDue) -> BrokerHeartbeatRequest:
        return BrokerHeartbeatRequest(
            broker_id=self.broker_id,
            broker_epoch=due.broker_epoch,
            current_metadata_offset=self.applied_offset,
            want_fence=due.want_fence,
            want_shut_down=due.want_shut_down,
        )

    def _not_answered(self, reason: str) -> None:
        del reason
        self._lifecycle.request_failed(self.process.now_ms)
        self._live_on()

    def _registered(self, sent_at: int, answer: BrokerRegistrationResponse) -> None:
        if answer.error is not ErrorCode.NONE:
            self._not_answered(answer.error.name)
            return
        self._session.registered(sent_at)
        self._lifecycle.registered(self.process.now_ms, answer.broker_epoch)
        self._begin(answer.broker_epoch)
        self._live_on()

    def _heartbeat_answered(self, sent_at: int, answer: BrokerHeartbeatResponse) -> None:
        if answer.error is not ErrorCode.NONE:
            self._not_answered(answer.error.name)
            return
        if answer.is_fenced:
            self._session.fenced(sent_at, self.process.now_ms)
        else:
            self._session.heard(sent_at, self.process.now_ms)
        self._lifecycle.heartbeat_answered(
            self.process.now_ms,
            is_caught_up=answer.is_caught_up,
            is_fenced=answer.is_fenced,
            should_shut_down=answer.should_shut_down,
        )
        self._live_on()

    # --- what it does there

    def _begin(self, broker_epoch: int) -> None:
        """Begin its work as registered."""
        times = self._times
        changing = SimulatedAsking(self.process, self._channel(), broker_epoch)
        assigning = SimulatedAsking(self.process, self._channel(), broker_epoch)
        isr_queue = IsrQueue(self.broker_id, changing)
        fetching = FetchingProcess(
            process=self.process,
            broker_id=self.broker_id,
            network=self._network,
            random=self._random,
            timeout_ms=times.timeout_ms,
        )
        identity = FetchIdentity(self.broker_id, broker_epoch)
        self.replicas = ReplicaManager(
            self.broker_id,
            self.directories,
            SimulatedFetchers(fetching, FetcherSettings(identity=identity)),
            isr_queue,
            TopicSettings(broker_id=self.broker_id, replica_lag_time_max_ms=times.lag_ms),
            directory_ids={self._directory_id: self.directories.roots[0]},
            broker_epoch=lambda: broker_epoch,
            listener=LISTENER,
            clock=lambda: self.process.now_ms,
        )
        isr_queue.led = self.replicas.led
        SimulatedRanges(fetching, self.replicas.damaged_ranges, self.replicas.take_answers)
        changing.begin(isr_queue)
        assigning.begin(DirectoryAssignments(self.broker_id, self.replicas.unassigned))
        self._placed = assigning.wake
        known = KnownCluster(self.identity.cluster_id, self.broker_id, lambda: self.image, lambda: self.applied_offset)
        guard = SessionGuard(self._session, lambda: self.process.now_ms)
        self._served = ServedRequests(self.process, self.replicas.hosted, known, self._random, guard)
        self._lag.set_in(times.lag_ms // _LAG_CHECKS)
        self._poll()

    def _poll(self) -> None:
        apply = partial(self._apply, self.process.now_ms)
        self._metadata.ask(MetadataPoll(self.applied_offset), apply, self._poll_again)

    def _poll_again(self, reason: str) -> None:
        del reason
        self.process.after(_AGAIN_MS, self._poll)

    def _apply(self, asked_at: int, news: MetadataNews) -> None:
        assert self.replicas is not None  # noqa: S101  it polls once it has them
        if news.applied_offset > self.applied_offset:
            try:
                self._take(news)
            except BrokerStoppedError:
                self._ended()
                return
        self._session.metadata_applied(asked_at)
        if not self._is_ready and not self.replicas.are_withheld:
            self._is_ready = True
            self._lifecycle.ready_to_unfence(self.process.now_ms)
            self._live_on()
        self._poll()

    def _take(self, news: MetadataNews) -> None:
        admitted = self._own_metadata.admitted(news, self._lifecycle.broker_epoch)
        assert self.replicas is not None  # noqa: S101  as above
        assert admitted is not None  # noqa: S101  it has polled once it was registered
        self.replicas.apply(admitted.image, admitted.changes)
        self.image, self.applied_offset = admitted.image, admitted.applied_offset
        if self.replicas.unassigned:
            self._placed()

    def _check_lag(self) -> None:
        assert self.replicas is not None  # noqa: S101  as above
        self.replicas.check_lag()
        self._lag.set_in(self._times.lag_ms // _LAG_CHECKS)

    def _keep_up(self) -> None:
        self.directories.run_periodic()
        self._upkeep.set_in(_PERIOD_MS)
