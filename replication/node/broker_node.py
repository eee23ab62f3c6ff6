"""A broker: its server, its lifecycle, its replicas, and what joins them to the controller."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from uuid import UUID, uuid4

from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.files.meta_properties import META_PROPERTIES_NAME, MetaProperties
from logstore.files.partition_metadata import parse_uuid
from logstore.log.state.waiters import ThreadWaiter
from logstore.topic_partition import DirectoryMark
from replication.broker.authorization.authorizer import Authorizer
from replication.broker.authorization.authorizer_settings import AuthorizerSettings
from replication.broker.authorization.permissions import unlimited
from replication.broker.broker_identity import BrokerIdentity
from replication.broker.broker_settings import SUPPORTED_FEATURES
from replication.broker.events.event_counts import EventCounts
from replication.broker.events.event_log import log_event
from replication.broker.events.partition_events import PartitionEvent
from replication.broker.groups.coordinator import GroupCoordinator
from replication.broker.groups.requests.group_apis import group_apis
from replication.broker.lifecycle.errors import BrokerStoppedError, NotInTimeError
from replication.broker.lifecycle.lifecycle import BrokerLifecycle, BrokerState
from replication.broker.lifecycle.lifecycle_thread import LifecycleThread
from replication.broker.lifecycle.own_session import OwnSession
from replication.broker.lifecycle.registration_news import RegistrationNews
from replication.broker.partitions.broker_traffic import BrokerTraffic
from replication.broker.replicas.replica_manager import ReplicaManager
from replication.broker.replicas.throttled_replicas import ReplicaThrottles
from replication.broker.replicas.told_fetches import ToldFetches
from replication.broker.replicas.topic_settings import REPLICA_LAG_TIME_MAX_MS, TopicSettings
from replication.broker.requests import log_dir_moves
from replication.broker.requests.cluster.features import features_of
from replication.broker.requests.guarded_administration import guarded_administration
from replication.broker.requests.known_cluster import KnownCluster
from replication.broker.requests.log_dir_moves import LogDirMoves
from replication.broker.requests.log_dirs import RootStates
from replication.broker.requests.reading_apis import reading_apis
from replication.broker.requests.writing_apis import writing_apis
from replication.clock import monotonic_ms
from replication.fetcher.fetcher_manager import FetcherManager
from replication.fetcher.fetcher_settings import FetcherSettings, FetchIdentity
from replication.metadata.image import ClusterImage
from replication.metadata.metadata_version import MetadataVersion
from replication.node.asking.asking_thread import AskingThread
from replication.node.asking.directory_assignments import DirectoryAssignments
from replication.node.asking.isr_queue import IsrQueue
from replication.node.broker_thread import BrokerThread
from replication.node.controller_link import ControllerLink
from replication.node.coordinators.asked_coordinators import AskedCoordinators
from replication.node.coordinators.other_coordinators import GROUPS, TRANSACTIONS, OtherCoordinators
from replication.node.coordinators.transactions_elsewhere import transactions_elsewhere
from replication.node.missing_topics import CREATE_TOPICS, create_missing
from replication.node.producer_ids import ProducerIds
from replication.node.session_guard import SessionGuard
from replication.protocol.client.client_settings import ClientSettings
from replication.protocol.messages.broker_registration import Listener, SecurityProtocol
from replication.protocol.messages.topic_ids import Endpoint
from replication.server.advertised_address import advertised_address
from replication.server.connections.listener_settings import ListenerSettings
from replication.server.served_api import ServedApi, ServedApis
from replication.server.server import Server
from replication.server.server_limits import ServerLimits
from replication.worker_thread import WorkerThread

_START_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerNodeSettings:
    """How a broker listens, leads and follows."""

    listener: ListenerSettings
    """For clients and for other brokers."""
    advertised_host: str | None = None
    """Where clients are told that it listens; None: where it does, and of all addresses of this machine its name."""
    advertised_port: int | None = None
    """None: the one that it listens on."""
    rack: str | None = None
    limits: ServerLimits | None = None
    topic_defaults: Mapping[str, str] = field(default_factory=dict)
    """For topics for which nothing else is set, under the names of their settings."""
    replica_lag_time_max_ms: int = REPLICA_LAG_TIME_MAX_MS
    heartbeat_interval_ms: int = 2_000
    auto_create_topics: bool = False
    """Whether a topic is made once a client asks for it."""
    controlled_shutdown_seconds: float = 30.0
    registration_seconds: float = _START_SECONDS
    """How long to ask for the first registration (initial.broker.registration.timeout.ms)."""
    peers: ClientSettings = field(default_factory=ClientSettings)
    """How the other brokers' listeners of this name are protected (security.inter.broker.protocol)."""
    fetchers: int = 1
    """Threads that follow each leader (num.replica.fetchers)."""
    coordinates_groups: bool = True
    """Whether it is the coordinator of all groups, in memory. Otherwise others are, of transactions too: who leads the
    partitions of `__consumer_offsets` and `__transaction_state`; and it answers for none (NOT_COORDINATOR)."""
    cordoned: tuple[UUID, ...] | None = None
    """The ids of directories that get no new replicas (cordoned.log.dirs); before Kafka 4.3 in vain. None: nothing is
    said of that."""
    authorizer: AuthorizerSettings | None = None
    """By which the cluster's access control lists are enforced; None: whoever may connect may do everything."""
    session_timeout_ms: int | None = None
    """Producers and consumers are refused once no heartbeat has been answered, but as fenced, for so long, at most the
    controller's broker.session.timeout.ms: another broker may lead by then. They are served again once it is heard, and
    has applied what the controller knew then. None: they are served on, as by Kafka's brokers, and what is acknowledged
    with acks=1 may be lost to the other leader."""


class BrokerNode:
    """Leads and follows what its cluster's metadata gives it, and answers clients, by threads of its own.

    Groups of consumers live in memory: what they commit is gone with the broker.

    >>> with BrokerNode(link, directories, BrokerNodeSettings(listener=listener)) as broker:
    ...     print(broker.address)
    """

    def __init__(self, link: ControllerLink, directories: LogDirectories, settings: BrokerNodeSettings) -> None:
        """Register, take what the metadata gives, and answer once that is done.

        It takes over the link. The directories, opened with `periodic` and `duplicates`, stay the caller's to close,
        after this is. Raises InconsistentDirectoriesError, CannotListenError, ResourceLimitError, NotInTimeError,
        BrokerStoppedError, RefusedByControllerError where it would be refused again, and OSError.
        """
        self.identity: Final = BrokerIdentity.of(directories)
        self._settings: Final = settings
        self.session: Final = OwnSession(settings.session_timeout_ms)
        """Whether it may have been fenced."""
        self._throttles: Final = ReplicaThrottles(self.identity.broker_id)
        self.directories: Final = directories
        """Its log.dirs."""
        self._directory_ids: Final = _by_id(directories)
        self.event_counts: Final = EventCounts()
        """What has happened to its partitions; the log has a line of each event."""
        self.traffic: Final = BrokerTraffic()
        """What has gone into them and out of them."""
        self._link: Final = link
        with ExitStack() as stack:
            stack.callback(link.close)
            server = self.server = stack.enter_context(Server([settings.listener], settings.limits))
            address = advertised_address(server.addresses[settings.listener.name], settings.advertised_host)
            self.address: Final = address._replace(port=settings.advertised_port or address.port)
            """Where clients are told that it listens."""
            self._thread: BrokerThread | None = None
            self._workers: tuple[WorkerThread, ...] = ()
            self._is_closing = False
            self.lifecycle: Final = self._register(stack)
            """How it stands with its controller."""
            self.fetchers: Final = self._fetcher_manager()
            """What it follows."""
            waiter, wants_isrs, has_placed = ThreadWaiter(), ThreadWaiter(), ThreadWaiter()
            isr_queue = IsrQueue(self.identity.broker_id, wants_isrs)
            self.replicas: Final = self._replica_manager(isr_queue, waiter)
            """The logs that it has, and their roles."""
            isr_queue.led = self.replicas.led
            assignments = DirectoryAssignments(self.identity.broker_id, self.replicas.unassigned)
            stack.callback(self.replicas.close)
            thread = self._thread = self._broker_thread(stack, waiter, has_placed)
            if not thread.begin(_START_SECONDS):
                raise NotInTimeError(self.identity.broker_id, _START_SECONDS, "its registration is not in the metadata")
            known = self._known(thread)
            server.start(self._served(self._apis(stack, known)), partial(features_of, known))
            stack.callback(thread.stop)
            thread.start()
            asking = (
                AskingThread("broker-isrs", link.channel(), isr_queue, wants_isrs, self._epoch),
                AskingThread("broker-directories", link.channel(), assignments, has_placed, self._epoch),
            )
            for each in asking:
                stack.callback(each.stop)
                each.start()
            self._workers = (thread, *asking, self.replicas.moves)
            self.lifecycle.ready_to_unfence()
            self.lifecycle.wait_for(BrokerState.RUNNING, _START_SECONDS)
            if not thread.wait_for_role(self.identity.broker_id, _START_SECONDS):
                raise NotInTimeError(self.identity.broker_id, _START_SECONDS, "the metadata is not applied")
            self._open: Final = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def broker_epoch(self) -> int:
        """Under which the controller knows it."""
        return self.lifecycle.broker_epoch

    @property
    def image(self) -> ClusterImage:
        """The metadata that its replicas stand at."""
        return ClusterImage() if self._thread is None else self._thread.image

    @property
    def applied_offset(self) -> int:
        """The highest offset of it; -1 before there is any."""
        return -1 if self._thread is None else self._thread.applied_offset

    @property
    def failure(self) -> BaseException | None:
        """What has ended its work, though its process lives: a thread has given up, or it is in the cluster no more."""
        for worker in self._workers:
            if worker.failure is not None:
                return worker.failure
        if self._is_closing or not self.lifecycle.stopped:
            return None
        return BrokerStoppedError(self.identity.broker_id, self.lifecycle.trouble)

    @property
    def strays(self) -> list[Path]:
        """The directories that were set aside, now or earlier: by the metadata they are not this broker's."""
        marked = ((root.root / name, mark) for root in self.directories.roots for name, mark in root.set_aside.items())
        return sorted(path for path, mark in marked if mark is DirectoryMark.STRAY)

    def wait_until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Return whether something holds within so many seconds; it is looked at after each change of the metadata."""
        return self._thread is not None and self._thread.wait_until(holds, seconds)

    def close(self) -> None:
        """Hand over what it leads, answer nobody any more, and let go of the logs; it may be called again."""
        self._is_closing = True
        self.lifecycle.begin_controlled_shutdown()
        with suppress(NotInTimeError, BrokerStoppedError):
            self.lifecycle.wait_for(BrokerState.SHUTTING_DOWN, self._settings.controlled_shutdown_seconds)
        self.directories.broker_epoch = self.broker_epoch
        self.abandon()

    def abandon(self) -> None:
        """Stop all of it at once, without a word to the controller."""
        self._is_closing = True
        self._open.close()

    # --- its parts

    def _register(self, stack: ExitStack) -> LifecycleThread:
        """Return what keeps it in the cluster, once it is registered."""
        news = RegistrationNews()
        listens = self._settings.listener
        protocol = SecurityProtocol[f"{'SASL_' if listens.sasl else ''}{'SSL' if listens.tls else 'PLAINTEXT'}"]
        listener = Listener(listens.name, *self.address, protocol)
        request = self.identity.registration(uuid4(), (listener,), SUPPORTED_FEATURES, self._settings.rack)
        seconds = self._settings.registration_seconds
        states = BrokerLifecycle(
            heartbeat_interval_ms=self._settings.heartbeat_interval_ms,
            initial_registration_timeout_ms=round(seconds * 1_000),
        )
        channel = self._link.channel()
        lifecycle = LifecycleThread(request, states, channel, lambda: self.applied_offset, news, self.session)
        stack.callback(lifecycle.stop)
        if self._settings.cordoned is not None:
            lifecycle.cordon(self._settings.cordoned)
        self._link.begin(self.identity.broker_id)
        lifecycle.start()
        if not news.wait(seconds):
            raise NotInTimeError(self.identity.broker_id, seconds, f"not registered ({lifecycle.trouble})")
        return lifecycle

    def _broker_thread(self, stack: ExitStack, waiter: ThreadWaiter, has_placed: ThreadWaiter) -> BrokerThread:
        source = self._link.metadata(waiter)
        stack.callback(source.close)
        return BrokerThread(
            source,
            self.replicas,
            waiter,
            broker_id=self.identity.broker_id,
            broker_epoch=self._epoch,
            directory_failed=self.lifecycle.directory_failed,
            placed=has_placed.wake,
            current=self.session.metadata_applied,
            lag_ms=self._settings.replica_lag_time_max_ms,
        )

    def _epoch(self) -> int:
        return self.lifecycle.broker_epoch

    def _tell(self, event: PartitionEvent) -> None:
        self.event_counts.note(event)
        log_event(event)

    def _fetcher_manager(self) -> FetcherManager:
        identity = FetchIdentity(self.identity.broker_id, self.broker_epoch)
        return FetcherManager(
            self._settings.peers,
            FetcherSettings(identity=identity),
            threads=self._settings.fetchers,
            observer=ToldFetches(self._tell, self.traffic),
            throttle=self._throttles.follower,
        )

    def _replica_manager(self, isr_queue: IsrQueue, waiter: ThreadWaiter) -> ReplicaManager:
        return ReplicaManager(
            self.identity.broker_id,
            self.directories,
            self.fetchers,
            isr_queue,
            TopicSettings(
                self._settings.topic_defaults,
                broker_id=self.identity.broker_id,
                replica_lag_time_max_ms=self._settings.replica_lag_time_max_ms,
            ),
            directory_ids=self._directory_ids,
            broker_epoch=lambda: self.broker_epoch,
            listener=self._settings.listener.name,
            clock=monotonic_ms,
            wake=waiter.wake,
            throttles=self._throttles,
            tell=self._tell,
            traffic=self.traffic,
        )

    def _known(self, thread: BrokerThread) -> KnownCluster:
        return KnownCluster(
            self.identity.cluster_id, self.identity.broker_id, lambda: thread.image, lambda: thread.applied_offset
        )

    def _served(self, apis: ServedApis) -> ServedApis:
        """Return what is answered in place of these: for who stands between a broker and those who ask it."""
        return apis

    def _apis(self, stack: ExitStack, known: KnownCluster) -> ServedApis:
        hosted, directories = self.replicas.hosted, self.directories
        roots = list(map(str, dict.fromkeys((*(root.root for root in directories.roots), *directories.offline))))
        broker_id, channel = self.identity.broker_id, self._link.channel()
        stack.callback(channel.close)
        administration = self._link.administration(broker_id)
        create = partial(create_missing, administration[CREATE_TOPICS])
        endpoint = Endpoint(broker_id, *self.address)
        authorizer = self._settings.authorizer
        permissions = unlimited if authorizer is None else Authorizer(known.image, authorizer).permissions
        if authorizer is not None:
            administration = guarded_administration(administration, known, permissions)
        coordinates = self._settings.coordinates_groups
        groups = group_apis(
            GroupCoordinator(coordinates=lambda _: coordinates),
            image=known.image,
            endpoint=(lambda *_: endpoint) if coordinates else OtherCoordinators(known, GROUPS).endpoint,
            transactions=None if coordinates else OtherCoordinators(known, TRANSACTIONS).endpoint,
            permissions=permissions,
        )
        writing = writing_apis(
            hosted,
            known,
            verification=None if coordinates else self._asked_coordinators(stack, known),
            producer_ids=ProducerIds(channel, broker_id, self._epoch),
            permissions=permissions,
        )
        moves = LogDirMoves(self.replicas.moves.ask, permissions)
        apis = {
            **reading_apis(
                hosted,
                known,
                roots,
                create_topics=create if self._settings.auto_create_topics else None,
                futures=self.replicas.moves.described,
                states=lambda: self._root_states(known),
                permissions=permissions,
                throttle=self._throttles.leader,
            ),
            log_dir_moves.API_KEY: ServedApi(log_dir_moves.VERSIONS, moves.answer),
            **writing,
            **groups,
            **({} if coordinates else transactions_elsewhere()),
            **administration,
        }
        return apis if self._settings.session_timeout_ms is None else SessionGuard(self.session).guarded(apis)

    def _asked_coordinators(self, stack: ExitStack, known: KnownCluster) -> AskedCoordinators:
        """Return the way to the other brokers as coordinators of transactions."""
        coordinators = OtherCoordinators(known, TRANSACTIONS)
        asked = AskedCoordinators(coordinators, self._settings.listener.name, self._settings.peers)
        stack.callback(asked.close)
        return asked

    def _root_states(self, known: KnownCluster) -> RootStates:
        """Return which roots are offline, and which are cordoned where the cluster's level knows of that."""
        is_known = known.image().metadata_version >= MetadataVersion.V4_3_IV0
        cordoned = frozenset(self._settings.cordoned or ()) if is_known else ()
        return RootStates(
            offline=frozenset(map(str, self.directories.offline)),
            cordoned=frozenset(str(root.root) for id_, root in self._directory_ids.items() if id_ in cordoned),
        )


def _by_id(directories: LogDirectories) -> Mapping[UUID, LogDirectory]:
    """Return the roots by their directory.id."""
    known = ((root, MetaProperties.read(root.root / META_PROPERTIES_NAME)) for root in directories.roots)
    return {parse_uuid(each.directory_id): root for root, each in known if each.directory_id is not None}
