"""What a broker answers."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Final
from uuid import UUID

from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from replication.cluster.broker.authorization.authorizer import Authorizer
from replication.cluster.broker.authorization.permissions import PermissionsOf, unlimited
from replication.cluster.broker.events.event_log import log_event
from replication.cluster.broker.groups.coordinator import GroupCoordinator
from replication.cluster.broker.groups.requests.group_apis import group_apis
from replication.cluster.broker.lifecycle.controller_channel import Channel
from replication.cluster.broker.lifecycle.errors import RefusedByControllerError
from replication.cluster.broker.lifecycle.own_session import OwnSession
from replication.cluster.broker.partitions.throttled_replicas import ReplicaThrottles
from replication.cluster.broker.replicas.replica_manager import ReplicaManager
from replication.cluster.broker.requests import log_dir_moves
from replication.cluster.broker.requests.cluster.described_topics import CreateTopics
from replication.cluster.broker.requests.effective_changes import effective_changes
from replication.cluster.broker.requests.guarded_administration import guarded_administration
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.log_dir_moves import LogDirMoves
from replication.cluster.broker.requests.log_dirs import RootStates
from replication.cluster.broker.requests.reading_apis import reading_apis
from replication.cluster.broker.requests.writing_apis import writing_apis
from replication.cluster.node.broker_node_settings import BrokerNodeSettings
from replication.cluster.node.controller_link import ControllerLink, asked
from replication.cluster.node.coordinators.asked_coordinators import AskedCoordinators
from replication.cluster.node.coordinators.other_coordinators import GROUPS, TRANSACTIONS, OtherCoordinators
from replication.cluster.node.coordinators.shared_groups import SharedGroups
from replication.cluster.node.coordinators.transactions_elsewhere import transactions_elsewhere
from replication.cluster.node.missing_topics import CREATE_TOPICS, MissingTopicsThread, create_missing
from replication.cluster.node.session_guard import SessionGuard
from replication.cluster.node.shown_changes import Wait, shown_changes
from replication.cluster.worker_thread import WorkerThread
from replication.records.metadata.metadata_version import MetadataVersion
from replication.records.metadata.settings.ineffective_settings import ineffective_of_brokers
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from replication.wire.messages.topic_ids import Endpoint
from replication.wire.server.call import Call
from replication.wire.server.served_api import ServedApi, ServedApis


class ProducerIds:
    """Requests blocks of producer ids from the controller, one after another."""

    def __init__(self, channel: Channel, broker_id: int, broker_epoch: Callable[[], int]) -> None:
        """Request blocks for a broker, by a channel of its own."""
        self._channel: Final = channel
        self._broker_id: Final = broker_id
        self._broker_epoch: Final = broker_epoch

    def next_block(self) -> range:
        """Return ids that nobody else gets, not even after a restart. One thread at a time asks.

        Raises NoControllerError and RefusedByControllerError.
        """
        request = AllocateProducerIdsRequest(broker_id=self._broker_id, broker_epoch=self._broker_epoch())
        answer = asked(self._channel, request)
        if answer.error is not ErrorCode.NONE:
            raise RefusedByControllerError(self._broker_id, "producer ids", answer.error, self._channel.address)
        return range(answer.first_id, answer.first_id + answer.count)


class BrokerApis:
    """Reads and writes its replicas, coordinates groups or says who does, and passes on what the controller answers."""

    def __init__(
        self,
        known: KnownCluster,
        replicas: ReplicaManager,
        directories: LogDirectories,
        link: ControllerLink,
        settings: BrokerNodeSettings,
        *,
        addresses: Mapping[str, Address],
        directory_ids: Mapping[UUID, LogDirectory],
        broker_epoch: Callable[[], int],
        throttles: ReplicaThrottles,
        session: OwnSession,
        wait: Wait,
    ) -> None:
        """Answer at addresses, by the listener's name, by the replicas of these directories.

        The link stays the caller's. `wait` looks at the metadata whenever it was applied.
        """
        self._known: Final = known
        self._replicas: Final = replicas
        self._directories: Final = directories
        self._directory_ids: Final = directory_ids
        self._settings: Final = settings
        self._broker_epoch: Final = broker_epoch
        self._throttles: Final = throttles
        self._session: Final = session
        self._wait: Final = wait
        self._addresses: Final = addresses
        self._permissions: Final[PermissionsOf] = (
            unlimited if settings.authorizer is None else Authorizer(known.image, settings.authorizer).permissions
        )
        self._is_remote: Final = link.is_remote
        self._administration: Final = link.administration(known.node_id)
        self._channel: Final = link.channel()
        self.workers: Final[list[WorkerThread]] = []
        """Threads that must not end before it is closed."""
        self._open: Final = ExitStack()
        self._open.callback(self._channel.close)

    def apis(self) -> ServedApis:
        """Return what is answered, by API key: once."""
        apis = {
            **self._reading(),
            **self._moving(),
            **self._writing(),
            **self._coordinating(),
            **self._administering(),
        }
        if self._settings.session_timeout_ms is None:
            return apis
        return SessionGuard(self._session, tell=log_event).guarded(apis)

    def close(self) -> None:
        """Ask nobody any more; it may be called again."""
        self._open.close()

    def _reading(self) -> ServedApis:
        directories = self._directories
        roots = list(map(str, dict.fromkeys((*(root.root for root in directories.roots), *directories.offline))))
        return reading_apis(
            self._replicas.hosted,
            self._known,
            roots,
            create_topics=self._create_topics() if self._settings.auto_create_topics else None,
            futures=self._replicas.moves.described,
            states=self._root_states,
            permissions=self._permissions,
            throttle=self._throttles.leader,
            ineffective=ineffective_of_brokers,
        )

    def _create_topics(self) -> CreateTopics:
        """Return what makes missing topics: aside, where that takes as long as a controller elsewhere may."""
        create = self._administration[CREATE_TOPICS]
        if not self._is_remote:
            return partial(create_missing, create)
        aside = MissingTopicsThread(create)
        self._open.callback(aside.stop, wait=False)
        aside.start()
        self.workers.append(aside)
        return aside.ask

    def _moving(self) -> ServedApis:
        moves = LogDirMoves(self._replicas.moves.ask, self._permissions)
        return {log_dir_moves.API_KEY: ServedApi(log_dir_moves.VERSIONS, moves.answer)}

    def _writing(self) -> ServedApis:
        return writing_apis(
            self._replicas.hosted,
            self._known,
            verification=None if self._settings.coordinates_groups else self._asked_coordinators(),
            producer_ids=ProducerIds(self._channel, self._known.node_id, self._broker_epoch),
            permissions=self._permissions,
        )

    def _coordinating(self) -> ServedApis:
        if self._settings.shares_groups:
            return self._sharing()
        is_coordinator = self._settings.coordinates_groups
        groups = group_apis(
            GroupCoordinator(self._settings.groups, coordinates=lambda _: is_coordinator),
            image=self._known.image,
            endpoint=self._own_endpoint if is_coordinator else OtherCoordinators(self._known, GROUPS).endpoint,
            transactions=None if is_coordinator else OtherCoordinators(self._known, TRANSACTIONS).endpoint,
            permissions=self._permissions,
        )
        return groups if is_coordinator else {**groups, **transactions_elsewhere()}

    def _sharing(self) -> ServedApis:
        shown = shown_changes(self._administration, self._known, self._wait)
        shared = SharedGroups(self._known, shown[CREATE_TOPICS])
        coordinator = GroupCoordinator(self._settings.groups, coordinates=shared.are_its)
        shared.forget = coordinator.forget
        return group_apis(coordinator, image=self._known.image, endpoint=shared.endpoint, permissions=self._permissions)

    def _own_endpoint(self, _: str, call: Call) -> Endpoint | None:
        """Return where this broker is reached by who has come by a listener."""
        address = self._addresses.get(call.caller.listener)
        return None if address is None else Endpoint(self._known.node_id, *address)

    def _administering(self) -> ServedApis:
        shown = shown_changes(self._administration, self._known, self._wait)
        effective = effective_changes(shown, alone=not self._is_remote)
        if self._settings.authorizer is None:
            return effective
        return guarded_administration(effective, self._known, self._permissions)

    def _asked_coordinators(self) -> AskedCoordinators:
        """Return the way to the other brokers as coordinators of transactions."""
        coordinators = OtherCoordinators(self._known, TRANSACTIONS)
        asked = AskedCoordinators(coordinators, self._settings.listener.name, self._settings.peers)
        self._open.callback(asked.close)
        return asked

    def _root_states(self) -> RootStates:
        """Return which roots are offline, and which are cordoned where the cluster's level knows of that."""
        is_known = self._known.image().metadata_version >= MetadataVersion.V4_3_IV0
        cordoned = frozenset(self._settings.cordoned or ()) if is_known else ()
        return RootStates(
            offline=frozenset(map(str, self._directories.offline)),
            cordoned=frozenset(str(root.root) for id_, root in self._directory_ids.items() if id_ in cordoned),
        )
