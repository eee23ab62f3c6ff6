"""A process's membership of a cluster: registration, heartbeats, and the metadata."""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self
from uuid import UUID, uuid4

from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.broker_settings import BrokerSettings
from replication.cluster.broker.lifecycle.controller_channel import ControllerChannel
from replication.cluster.broker.lifecycle.errors import BrokerStoppedError, NotInTimeError
from replication.cluster.broker.lifecycle.lifecycle import BrokerLifecycle, BrokerState
from replication.cluster.broker.lifecycle.lifecycle_observer import LifecycleObserver
from replication.cluster.broker.lifecycle.lifecycle_thread import LifecycleThread
from replication.cluster.quorum.active_controller import ActiveController
from replication.cluster.quorum.followed_metadata import FollowedMetadata
from replication.cluster.quorum.metadata_follower import MetadataFollower
from replication.wire.addresses import Address, parse_addresses
from replication.wire.client.client_settings import ClientSettings

_DEFAULT: Final = ClientSettings()


class BrokerAgent:
    """Registers with a KRaft quorum, sends heartbeats, and leaves by controlled shutdown. Serves no clients.

    >>> with BrokerAgent("controller1:9093", BrokerIdentity.of(directories), BrokerSettings(listeners=...)) as broker:
    ...     broker.wait_until_caught_up(60)
    ...     broker.ready_to_unfence()
    ...     broker.wait_until_running(60)

    Do not lead or follow partitions before it has caught up: until then, the metadata may be from an earlier start.
    Each agent is one incarnation, and starts once. Thread-safe.
    """

    def __init__(
        self,
        controllers: str | Iterable[Address],
        identity: BrokerIdentity,
        settings: BrokerSettings,
        *,
        client_settings: ClientSettings = _DEFAULT,
        observer: LifecycleObserver | None = None,
        metadata_directory: str | os.PathLike[str] | None = None,
    ) -> None:
        """Connect later: `controllers` are the ones to try first (Kafka: controller.quorum.bootstrap.servers).

        `client_settings` say how their listener is protected. `metadata_directory` is where a copy of the metadata is
        kept, from which the next start continues (Kafka: metadata.log.dir), apart from the broker's logs.
        Without one all metadata is fetched at each start. Raises InvalidAddressError.
        """
        self.identity = identity
        self.incarnation_id = uuid4()
        self._settings = settings
        self._controller = ActiveController()
        observer = observer or LifecycleObserver()
        self.metadata = MetadataFollower(
            parse_addresses(controllers) if isinstance(controllers, str) else tuple(controllers),
            lambda: FollowedMetadata.open(identity.broker_id, identity.cluster_id, metadata_directory),
            client_settings,
            self._controller,
            observer,
            self._metadata_failed,
        )
        """The image of the cluster's metadata."""
        self._lifecycle = LifecycleThread(
            identity.registration(self.incarnation_id, settings.listeners, settings.features, settings.rack),
            BrokerLifecycle(
                heartbeat_interval_ms=settings.heartbeat_interval_ms,
                initial_registration_timeout_ms=settings.initial_registration_timeout_ms,
            ),
            ControllerChannel(self._controller, client_settings, settings.session_timeout_ms),
            lambda: self.metadata.applied_offset,
            observer,
            session_timeout_ms=settings.session_timeout_ms,
        )

    def start(self) -> None:
        """Begin to register; `with` calls this. Raises RuntimeError if it was started before."""
        self._lifecycle.start()
        self.metadata.start()

    def wait_until_caught_up(self, seconds: float) -> None:
        """Wait until it is registered, and the metadata is replayed up to its own registration.

        Raises NotInTimeError; BrokerStoppedError if it could not register in the time that the settings allow, or
        the metadata cannot be followed.
        """
        self._lifecycle.wait_for(BrokerState.RECOVERY, seconds)

    def ready_to_unfence(self) -> None:
        """Report that logs are recovered and clients can be served."""
        self._lifecycle.ready_to_unfence()

    def wait_until_running(self, seconds: float) -> None:
        """Wait until the controller has unfenced it. Raises NotInTimeError and BrokerStoppedError."""
        self._lifecycle.wait_for(BrokerState.RUNNING, seconds)

    def directory_failed(self, directory_id: UUID) -> None:
        """Report a directory as offline to the controller, which moves its leaderships elsewhere (KIP-858)."""
        self._lifecycle.directory_failed(directory_id)

    def cordon(self, directory_ids: Collection[UUID]) -> None:
        """Report the directories that should get no new replicas; none: all may. Without effect before Kafka 4.3."""
        self._lifecycle.cordon(directory_ids)

    @property
    def state(self) -> BrokerState:
        """Its state."""
        return self._lifecycle.state

    @property
    def broker_epoch(self) -> int:
        """Its broker epoch; -1 before it is registered. Keep it with the logs: `LogDirectories.broker_epoch`."""
        return self._lifecycle.broker_epoch

    @property
    def is_fenced(self) -> bool:
        """Whether the broker is fenced, according to the controller's last response; true before the first one."""
        return self._lifecycle.is_fenced

    def leave(self, seconds: float | None = None) -> None:
        """Ask the controller to move leaderships away, wait until it has, and stop (controlled shutdown).

        Raises NotInTimeError after so many seconds, by default those of the settings; it is stopped then too.
        """
        self._lifecycle.begin_controlled_shutdown()
        timeout = self._settings.controlled_shutdown_timeout_ms / 1_000 if seconds is None else seconds
        try:
            self._lifecycle.wait_for(BrokerState.SHUTTING_DOWN, timeout)
        finally:
            self.close()

    def close(self) -> None:
        """Stop at once: the controller notices when the session times out."""
        self._lifecycle.stop()
        self.metadata.stop()
        self._controller.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Shut down in a controlled way; a controller that does not answer is not an error here."""
        with suppress(NotInTimeError, BrokerStoppedError):
            self.leave()

    def _metadata_failed(self, error: BaseException) -> None:
        """Stop: a broker cannot go on without metadata (Kafka: FatalFaultError)."""
        self._lifecycle.stop(f"the metadata can no longer be followed: {error}")
