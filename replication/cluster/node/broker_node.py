"""A broker: its server, its lifecycle, its replicas, and what joins them to the controller."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from uuid import UUID, uuid4

from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.clean_shutdown import UNKNOWN_BROKER_EPOCH
from logstore.files.meta_properties import MetaProperties
from logstore.files.partition_metadata import parse_uuid
from logstore.log.state.waiters import ThreadWaiter
from logstore.topic_partition import DirectoryMark
from replication.base.clock import monotonic_ms
from replication.base.stop_request import StopRequest, StopRequestedError
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.broker_settings import SESSION_TIMEOUT_MS, SUPPORTED_FEATURES
from replication.cluster.broker.events.departure_events import Leaving, Left
from replication.cluster.broker.events.doubted_clock import DoubtedClock
from replication.cluster.broker.events.event_counts import EventCounts
from replication.cluster.broker.events.event_log import log_event
from replication.cluster.broker.events.full_disks import FullDisks
from replication.cluster.broker.events.partition_events import PartitionEvent
from replication.cluster.broker.lifecycle.errors import BrokerStoppedError, NotInTimeError
from replication.cluster.broker.lifecycle.lifecycle import BrokerLifecycle, BrokerState
from replication.cluster.broker.lifecycle.lifecycle_thread import LifecycleThread
from replication.cluster.broker.lifecycle.own_session import OwnSession
from replication.cluster.broker.lifecycle.registration_news import RegistrationNews
from replication.cluster.broker.partitions.broker_traffic import BrokerTraffic
from replication.cluster.broker.partitions.throttled_replicas import ReplicaThrottles
from replication.cluster.broker.replicas.replica_manager import ReplicaManager
from replication.cluster.broker.replicas.told_fetches import ToldFetches
from replication.cluster.broker.replicas.topic_settings import TopicSettings
from replication.cluster.broker.requests.cluster.features import features_of
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.fetcher.fetcher_manager import FetcherManager
from replication.cluster.fetcher.fetcher_settings import FetcherSettings, FetchIdentity
from replication.cluster.node.asking.asking_thread import AskingThread
from replication.cluster.node.asking.directory_assignments import DirectoryAssignments
from replication.cluster.node.asking.isr_queue import IsrQueue
from replication.cluster.node.asking.range_thread import RangeThread
from replication.cluster.node.broker_apis import BrokerApis
from replication.cluster.node.broker_node_settings import BrokerNodeSettings
from replication.cluster.node.broker_thread import BrokerThread
from replication.cluster.node.cleaner_thread import CleanerThread
from replication.cluster.node.controller_link import ControllerLink
from replication.cluster.node.coordinators.keeping_off import KeepingOff, Peers
from replication.cluster.node.coordinators.missing_coordinators import MissingCoordinators
from replication.cluster.node.listeners import advertised_listeners, with_metadata_users
from replication.cluster.quorum.quorum_standing import QuorumStanding
from replication.cluster.worker_thread import WorkerThread
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.metadata_version import MetadataVersion
from replication.wire.addresses import Address
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.served_api import ServedApis
from replication.wire.server.server import Server

_START_SECONDS: Final = 60.0
_PLACED_SECONDS: Final = 5.0
"""How long a start waits until the controller has noted in which directories replicas lie."""


class BrokerNode:
    """Leads and follows what its cluster's metadata gives it, and answers clients, by threads of its own.

    Groups of consumers live in memory: what they commit is gone with the broker.

    >>> with BrokerNode(link, directories, BrokerNodeSettings(listener=listener)) as broker:
    ...     print(broker.address)
    """

    def __init__(
        self,
        link: ControllerLink,
        directories: LogDirectories,
        settings: BrokerNodeSettings,
        stop: StopRequest | None = None,
        event_counts: EventCounts | None = None,
    ) -> None:
        """Register, take what the metadata gives, and answer once that is done and the controller has unfenced it.

        Where a replica lacks what its checkpoint files have said, and the controller would elect this broker for it, it
        is there but fenced, with nothing to lead, until another replica leads (`ReplicaManager.are_withheld`).

        It takes over the link. The directories, opened with `periodic` and `duplicates`, stay the caller's to close,
        after this is. Raises InconsistentDirectoriesError, CannotListenError, ResourceLimitError, NotInTimeError,
        BrokerStoppedError, RefusedByControllerError where it would be refused again, and OSError; where it coordinates
        nothing, NoCoordinatorError, TooFewCoordinatorsError and what else keeps others from it; StopRequestedError,
        once it has left in order, where `stop` is made while it waits. `event_counts` has what happened before.
        """
        self._stop: Final = stop or StopRequest()
        self.identity: Final = BrokerIdentity.of(directories)
        self._settings: Final = settings
        self.session: Final = OwnSession(settings.session_timeout_ms)
        """Whether it may have been fenced."""
        self._throttles: Final = ReplicaThrottles(self.identity.broker_id)
        self.directories: Final = directories
        """Its log.dirs."""
        self._directory_ids: Final = _by_id(directories)
        self.event_counts: Final = event_counts or EventCounts()
        """What has happened to its partitions; the log has a line of each event."""
        self._coordination: Final = MissingCoordinators(coordinates_groups=settings.coordinates_groups)
        self.traffic: Final = BrokerTraffic()
        """What has gone into them and out of them."""
        self._link: Final = link
        with ExitStack() as stack:
            stack.callback(link.close)
            listeners = self._listeners()
            server = self.server = stack.enter_context(Server(listeners, settings.limits))
            self.listeners: Final = advertised_listeners(listeners, server.addresses)
            """As they are advertised."""
            self.address: Final = self.addresses[settings.listener.name]
            """Where it listens, as advertised to other brokers."""
            self._thread: BrokerThread | None = None
            self._workers: tuple[WorkerThread, ...] = ()
            self._is_closing = False
            self._is_leaving = False
            self.lifecycle: Final = self._register(stack)
            """How it stands with its controller."""
            self.fetchers: Final = self._fetcher_manager()
            """What it follows."""
            waiter, wants_isrs, has_placed = ThreadWaiter(), ThreadWaiter(), ThreadWaiter()
            isr_queue = IsrQueue(self.identity.broker_id, wants_isrs, log_event)
            self.replicas: Final = self._replica_manager(isr_queue, waiter)
            """The logs that it has, and their roles."""
            isr_queue.led = self.replicas.led
            assignments = DirectoryAssignments(self.identity.broker_id, self.replicas.unassigned, log_event)
            stack.callback(self._note_epoch)
            stack.callback(self.replicas.close)
            thread = self._thread = self._broker_thread(stack, waiter, has_placed)
            if not self._until(thread.begin, _START_SECONDS):
                raise NotInTimeError(self.identity.broker_id, _START_SECONDS, "its registration is not in the metadata")
            known = self._known(thread)
            apis = self._broker_apis(known, thread)
            stack.callback(apis.close)
            served = self._served(apis.apis())
            stack.callback(thread.stop)
            thread.start()
            asking = (
                AskingThread("broker-isrs", link.channel(), isr_queue, wants_isrs, self._epoch),
                AskingThread("broker-directories", link.channel(), assignments, has_placed, self._epoch),
            )
            cleaners = (CleanerThread(directories),) if settings.compacts else ()
            ranges = RangeThread(
                self.identity.broker_id, self.replicas.damaged_ranges, self._settings.peers, waiter.wake
            )
            for each in (*asking, *cleaners, ranges):
                stack.callback(each.stop)
                each.start()
            self._workers = (thread, *asking, *cleaners, ranges, self.replicas.moves, *apis.workers)
            # Who is unfenced is elected only where its replica lies in a directory that the controller knows.
            self._until(
                partial(thread.wait_until, lambda: thread.stopped or not self.replicas.unassigned), _PLACED_SECONDS
            )
            if not settings.coordinates_groups:
                self._keep_off(thread, known)
            thread.unfence_by(self.lifecycle.ready_to_unfence)
            if not self.replicas.are_withheld:
                self._wait_for_roles(thread)
            # Not before: metadata that names neither this broker nor a controller sends clients away for long.
            server.start(served, partial(features_of, known))
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
    def quorum_standing(self) -> QuorumStanding | None:
        """Where it stands as an observer of the controllers' quorum; None where its controller is alone."""
        return self._link.standing()

    @property
    def addresses(self) -> Mapping[str, Address]:
        """Where it listens, as advertised to clients, by the listener's name."""
        return {each.name: Address(each.host, each.port) for each in self.listeners}

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
        self._leave()
        self.abandon()

    def abandon(self) -> None:
        """Stop all of it at once, without a word to the controller."""
        self._is_closing = True
        self._open.close()

    # --- its parts

    def _until(self, wait: Callable[[float], bool], seconds: float) -> bool:
        """Return whether something that a start waits for comes in time; leave where it is to stop instead."""
        try:
            return self._stop.until(wait, seconds)
        except StopRequestedError:
            self._leave()
            raise

    def _wait_for_roles(self, thread: BrokerThread) -> None:
        if not self._until(partial(self.lifecycle.reaches, BrokerState.RUNNING), _START_SECONDS):
            raise NotInTimeError(self.identity.broker_id, _START_SECONDS, self.lifecycle.standing)
        if not self._until(partial(thread.wait_for_role, self.identity.broker_id), _START_SECONDS):
            raise NotInTimeError(self.identity.broker_id, _START_SECONDS, "the metadata is not applied")

    def _keep_off(self, thread: BrokerThread, known: KnownCluster) -> None:
        """See that other brokers coordinate, or leave. Raises what keeps them from it, StopRequestedError too."""
        peers = Peers(self._settings.listener.name, self._settings.peers)
        keeping = KeepingOff(known, self._link.channel, peers)
        if not self._settings.starts_without_coordinators and not self._is_cordoned():
            seconds = self._settings.registration_seconds
            if not self._until(lambda slice_: thread.stopped or keeping.wait(slice_), seconds):
                self._leave()
                raise keeping.failure
        keeping.tell_replicas(self.address)

    def _is_cordoned(self) -> bool:
        """Whether the controller places nothing new here anyway."""
        is_known = self.image.metadata_version >= MetadataVersion.V4_3_IV0
        return is_known and self._directory_ids.keys() <= set(self._settings.cordoned or ())

    def _leave(self) -> None:
        self._is_closing = self._is_leaving = True
        if self.lifecycle.state is not BrokerState.RUNNING:
            self.lifecycle.begin_controlled_shutdown()
            return
        seconds = self._settings.controlled_shutdown_seconds
        log_event(Leaving(within_ms=round(seconds * 1_000)))
        begun = monotonic_ms()
        self.lifecycle.begin_controlled_shutdown()
        with suppress(NotInTimeError):  # the lifecycle knows why
            self.lifecycle.wait_for(BrokerState.SHUTTING_DOWN, seconds)
        log_event(Left(took_ms=monotonic_ms() - begun, reason=self.lifecycle.unfinished))

    def _note_epoch(self) -> None:
        """Note, once nothing can be lost any more, for which epoch the directories are whole, if it leaves in order.

        The controller takes who does not name its last epoch for one that may have lost something (KIP-966).
        """
        if not self._is_leaving:
            return
        is_whole = not self.replicas.has_lost_tail
        self.directories.broker_epoch = self.broker_epoch if is_whole else UNKNOWN_BROKER_EPOCH

    def _listeners(self) -> list[ListenerSettings]:
        """Return the listeners, with the users of the metadata."""
        first, *more = (self._settings.listener, *self._settings.more_listeners)
        listeners = [replace(first, is_for_brokers=bool(more)), *more]
        return [with_metadata_users(each, lambda: self.image) for each in listeners]

    def _register(self, stack: ExitStack) -> LifecycleThread:
        """Return what keeps it in the cluster, once it is registered."""
        news = RegistrationNews()
        request = self.identity.registration(uuid4(), self.listeners, SUPPORTED_FEATURES, self._settings.rack)
        seconds = self._settings.registration_seconds
        states = BrokerLifecycle(
            heartbeat_interval_ms=self._settings.heartbeat_interval_ms,
            initial_registration_timeout_ms=round(seconds * 1_000),
        )
        channel = self._link.channel()
        lifecycle = LifecycleThread(
            request,
            states,
            channel,
            lambda: self.applied_offset,
            news,
            self.session,
            session_timeout_ms=self._settings.session_timeout_ms or SESSION_TIMEOUT_MS,
        )
        stack.callback(lifecycle.stop)
        if self._settings.cordoned is not None:
            lifecycle.cordon(self._settings.cordoned)
        self._link.begin(self.identity.broker_id)
        lifecycle.start()
        if not self._stop.until(news.wait, seconds):
            raise NotInTimeError(self.identity.broker_id, seconds, f"not registered ({lifecycle.trouble})")
        return lifecycle

    def _broker_thread(self, stack: ExitStack, waiter: ThreadWaiter, has_placed: ThreadWaiter) -> BrokerThread:
        source = self._link.metadata(waiter)
        stack.callback(source.close)
        return BrokerThread(
            source,
            self.replicas,
            waiter,
            FullDisks(self.directories.roots),
            DoubtedClock(self.directories.roots),
            broker_id=self.identity.broker_id,
            broker_epoch=self._epoch,
            directory_failed=self.lifecycle.directory_failed,
            placed=has_placed.wake,
            resend_registration=self.lifecycle.resend_registration,
            current=self.session.metadata_applied,
            lag_ms=self._settings.replica_lag_time_max_ms,
        )

    def _epoch(self) -> int:
        return self.lifecycle.broker_epoch

    def _tell(self, event: PartitionEvent) -> None:
        self.event_counts.note(event)
        log_event(event)
        self._coordination.note(event)

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
            broker_epoch=self._epoch,
            listener=self._settings.listener.name,
            clock=monotonic_ms,
            wake=waiter.wake,
            throttles=self._throttles,
            tell=self._tell,
            traffic=self.traffic,
            remakes_only=self._settings.remakes_only_replicas,
            accepted_losses=self._settings.accepted_losses,
            verify_interval_ms=self._settings.fetch_verify_interval_ms,
        )

    def _known(self, thread: BrokerThread) -> KnownCluster:
        return KnownCluster(
            self.identity.cluster_id, self.identity.broker_id, lambda: thread.image, lambda: thread.applied_offset
        )

    def _broker_apis(self, known: KnownCluster, thread: BrokerThread) -> BrokerApis:
        return BrokerApis(
            known,
            self.replicas,
            self.directories,
            self._link,
            self._settings,
            addresses=self.addresses,
            directory_ids=self._directory_ids,
            broker_epoch=self._epoch,
            throttles=self._throttles,
            session=self.session,
            wait=lambda holds, seconds: thread.wait_until(lambda: thread.stopped or holds(), seconds),
        )

    def _served(self, apis: ServedApis) -> ServedApis:
        """Return what is answered in place of these: for who stands between a broker and those who ask it."""
        return apis


def _by_id(directories: LogDirectories) -> Mapping[UUID, LogDirectory]:
    """Return the roots by their directory.id."""
    known = ((root, MetaProperties.read(root.root / META_PROPERTIES_NAME)) for root in directories.roots)
    return {parse_uuid(each.directory_id): root for root, each in known if each.directory_id is not None}
