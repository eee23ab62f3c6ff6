"""A broker whose controller is in its own process."""

from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Final, Self
from uuid import UUID, uuid4

from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.files.meta_properties import META_PROPERTIES_NAME, MetaProperties
from logstore.files.partition_metadata import parse_uuid
from logstore.log.state.waiters import ThreadWaiter
from replication.broker.broker_identity import BrokerIdentity
from replication.broker.broker_settings import SUPPORTED_FEATURES
from replication.broker.groups.coordinator import GroupCoordinator
from replication.broker.groups.requests.group_apis import group_apis
from replication.broker.lifecycle.errors import BrokerStoppedError, NotInTimeError
from replication.broker.lifecycle.lifecycle import BrokerLifecycle, BrokerState
from replication.broker.lifecycle.lifecycle_observer import LifecycleObserver
from replication.broker.lifecycle.lifecycle_thread import LifecycleThread
from replication.broker.replicas.replica_manager import ReplicaManager
from replication.broker.replicas.topic_settings import REPLICA_LAG_TIME_MAX_MS, TopicSettings
from replication.broker.requests.cluster.features import features_of
from replication.broker.requests.known_cluster import KnownCluster
from replication.broker.requests.reading_apis import reading_apis
from replication.clock import monotonic_ms
from replication.fetcher.fetcher_manager import FetcherManager
from replication.fetcher.fetcher_settings import FetcherSettings, FetchIdentity
from replication.protocol.addresses import Address
from replication.protocol.messages.broker_registration import BrokerRegistrationRequest, Listener, SecurityProtocol
from replication.protocol.messages.topic_ids import Endpoint
from replication.server.call import Call
from replication.server.connections.listener_settings import ListenerSettings
from replication.server.server import Server
from replication.server.server_limits import ServerLimits
from replication.standalone.broker_thread import BrokerThread
from replication.standalone.isr_queue import IsrQueue
from replication.standalone.local_channel import LocalChannel
from replication.standalone.static_controller import StaticController

_START_SECONDS: Final = 60.0
_HEARTBEAT_MS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalBrokerSettings:
    """How a broker listens, leads and follows."""

    listener: ListenerSettings
    """For clients and for other brokers."""
    advertised: Address | None = None
    """Where clients are told that it listens; None: where it does."""
    rack: str | None = None
    limits: ServerLimits | None = None
    topic_defaults: Mapping[str, str] = field(default_factory=dict)
    """For topics for which nothing else is set, under the names of their settings."""
    replica_lag_time_max_ms: int = REPLICA_LAG_TIME_MAX_MS
    controlled_shutdown_seconds: float = 30.0


class LocalBroker:
    """Leads and follows what its controller gives it, and answers clients, by threads of its own.

    Groups of consumers live in memory: what they commit is gone with the broker.

    >>> with LocalBroker(controller, directories, LocalBrokerSettings(listener=listener)) as broker:
    ...     print(broker.address)
    """

    def __init__(
        self, controller: StaticController, directories: LogDirectories, settings: LocalBrokerSettings
    ) -> None:
        """Register, take what the metadata gives, and answer once that is done.

        The directories stay the caller's to close, after this is. Raises InconsistentDirectoriesError,
        CannotListenError, ResourceLimitError, NotInTimeError, BrokerStoppedError, and OSError.
        """
        self.identity: Final = BrokerIdentity.of(directories)
        self._settings: Final = settings
        self._directories: Final = directories
        self._controller: Final = controller
        self._applied_offset = -1
        with ExitStack() as stack:
            server = stack.enter_context(Server([settings.listener], settings.limits))
            self.address: Final = settings.advertised or server.addresses[settings.listener.name]
            """Where clients are told that it listens."""
            self._lifecycle: Final = self._register(stack)
            waiter, feed = ThreadWaiter(), controller.feed()
            stack.callback(controller.drop, feed)
            feed.attend(waiter)
            isr_queue = IsrQueue(self.identity.broker_id, waiter)
            self.replicas: Final = self._replica_manager(isr_queue)
            """The logs that it has, and their roles."""
            stack.callback(self.replicas.close)
            self._thread: Final = BrokerThread(
                controller,
                feed,
                self.replicas,
                isr_queue,
                waiter,
                broker_epoch=lambda: self._lifecycle.broker_epoch,
                lag_ms=settings.replica_lag_time_max_ms,
            )
            self._thread.catch_up()
            server.start(self._apis(), partial(features_of, self._known()))
            stack.callback(self._thread.stop)
            self._thread.start()
            self._lifecycle.ready_to_unfence()
            self._lifecycle.wait_for(BrokerState.RUNNING, _START_SECONDS)
            self._open: Final = stack.pop_all()
