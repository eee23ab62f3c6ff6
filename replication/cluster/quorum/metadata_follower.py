"""The thread that follows the quorum's metadata: a thin shell."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from threading import Condition
from typing import ClassVar, Final

from epoch.base.resource_limits import ResourceLimitError
from logstore.errors import LogStoreError
from replication.base.clock import monotonic_ms
from replication.cluster.quorum.active_controller import ActiveController
from replication.cluster.quorum.errors import MetadataDivergedError, MetadataRefusedError
from replication.cluster.quorum.followed_metadata import FollowedMetadata
from replication.cluster.quorum.metadata_observer import MetadataObserver
from replication.cluster.quorum.quorum_decisions import OtherLeader
from replication.cluster.quorum.quorum_standing import QuorumStanding
from replication.cluster.worker_thread import WorkerThread
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.image_publisher import PublishedImage
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.errors import KafkaError

_REQUEST_TIMEOUT_MS: Final = 2_000
"""Kafka: controller.quorum.request.timeout.ms, controller.quorum.fetch.timeout.ms."""
_FOR_GOOD: Final = (LogStoreError, MetadataDivergedError)
_NOTHING: Final = PublishedImage(ClusterImage().frozen())


class MetadataFollower(WorkerThread):
    """Finds the quorum's leader and replays committed metadata, until it is stopped.

    `controller` is set to who leads. Errors are retried, except those that set `failure` and end it. Any thread may
    read `published` without a lock.
    """

    PASSING: ClassVar[tuple[type[Exception], ...]] = (*WorkerThread.PASSING, LogStoreError)

    def __init__(
        self,
        bootstrap: Iterable[Address],
        open_metadata: Callable[[], FollowedMetadata],
        settings: ClientSettings,
        controller: ActiveController,
        observer: MetadataObserver,
        on_failure: Callable[[BaseException], object] = lambda _: None,
    ) -> None:
        """Create a follower; `start` starts its thread. `bootstrap`: Kafka's controller.quorum.bootstrap.servers.

        The thread calls `open_metadata`, and closes what that returns.
        """
        super().__init__("metadata-follower")
        self._next_bootstrap = cycle(bootstrap)
        self._open_metadata = open_metadata
        self._followed: FollowedMetadata | None = None
        self._published = _NOTHING
        self._settings = settings.within(_REQUEST_TIMEOUT_MS)
        self._controller = controller
        self._observer = observer
        self._on_failure = on_failure
        self._changed = Condition()
        self.as_of_ms: int = -1
        """What the leader had committed by then, by the monotonic clock, has been published; -1 before that."""
        self.standing: QuorumStanding = QuorumStanding()
        """Where it stood after the last answer."""
        self._target: Address | None = None

    @property
    def published(self) -> PublishedImage:
        """The committed metadata that was replayed so far, as an immutable value."""
        return self._published

    @property
    def applied_offset(self) -> int:
        """The highest offset in the image; -1 before the first."""
        return self._published.applied_offset

    @contextmanager
    def image(self) -> Iterator[ClusterImage]:
        """Give the image that is published now; `published` has its offset too."""
        yield self._published.image

    def wait_for(self, condition: Callable[[ClusterImage], bool], seconds: float) -> bool:
        """Wait until the image meets a condition; return whether it does. Returns early where following has ended."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._stopped.is_set() or self.failure is not None or condition(self._published.image), seconds
            )
            return condition(self._published.image)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            super()._run()
        finally:
            if self._followed is not None:
                with suppress(OSError, LogStoreError):  # what could not be written the next start fetches again
                    self._followed.close()

    def _round(self) -> None:
        followed = self._followed
        if followed is None:
            followed = self._followed = self._open_metadata()
            self._publish(followed.published)
        connection = self._connection or self._connect(self._target or next(self._next_bootstrap), self._settings)
        asked_at = monotonic_ms()
        connection.send(followed.request())
        _, response = connection.receive()
        try:
            other = followed.take(response)
        except KafkaError as error:
            raise MetadataRefusedError(error.code, connection.address) from error
        self.standing = followed.standing
        self._publish(followed.published)
        if followed.is_current:
            self.as_of_ms = asked_at
        if other is not None:
            self._turn_to(other, connection)
            return
        self._back_off.succeeded()
        self._target = connection.address
        if self._controller.found(connection.address):
            self._observer.controller_changed(str(connection.address))

    def _publish(self, published: PublishedImage) -> None:
        if published is self._published or published.applied_offset < 0:
            return
        with self._changed:
            self._published = published
            self._changed.notify_all()
        self._observer.metadata_published(published)

    def _turn_to(self, other: OtherLeader, connection: Connection) -> None:
        """Go to who leads; where the address is unknown, try one controller after the other."""
        if other.address != connection.address:
            self._controller.lost()
            self._hang_up()
            self._target = other.address
        self._rest()

    def _lost(self, error: Exception) -> None:
        """Look for the leader anew, after a while; not where what was read shows that it would be in vain."""
        if isinstance(error, _FOR_GOOD) and not isinstance(error, ResourceLimitError):
            self._give_up(error)
            return
        self._hang_up()
        self._target = None
        self.standing = self.standing._replace(leader_id=-1)
        self._controller.lost(str(error))
        if not self._stopped.is_set():
            self._observer.metadata_interrupted(error)
            self._rest()

    def _give_up(self, error: BaseException) -> None:
        self.failure = error
        self.stop(wait=False)
        self._controller.lost(str(error))
        self._on_failure(error)
