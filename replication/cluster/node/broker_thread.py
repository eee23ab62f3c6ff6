"""The thread that keeps a broker where its cluster's metadata says."""

from collections.abc import Callable
from threading import Condition
from typing import ClassVar, Final
from uuid import UUID

from logstore.log.state.waiters import ThreadWaiter
from replication.base.clock import monotonic_ms
from replication.cluster.broker.events.doubted_clock import DoubtedClock
from replication.cluster.broker.events.full_disks import FullDisks
from replication.cluster.broker.lifecycle.errors import BrokerStoppedError
from replication.cluster.broker.replicas.replica_manager import ReplicaManager
from replication.cluster.fetcher.errors import FetchersClosedError
from replication.cluster.node.controller_link import MetadataSource
from replication.cluster.node.own_metadata import OwnMetadata
from replication.cluster.worker_thread import WorkerThread
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.metadata_version import MetadataVersion
from replication.wire.client.deadline import Deadline

_LAG_CHECKS: Final = 2
"""In the time after which a follower counts as behind (Kafka: isr-expiration runs so often)."""

_LONGEST_WAIT_MS: Final = 500
"""Nobody wakes it for a disk that fails or is full."""


class BrokerThread(WorkerThread):
    """Applies metadata, and looks for followers that lag and for disks that have failed or are full.

    Roles come from metadata in which the broker is registered as it is now: what is older speaks of its earlier starts.
    """

    PASSING: ClassVar[tuple[type[Exception], ...]] = ()

    def __init__(
        self,
        source: MetadataSource,
        replicas: ReplicaManager,
        waiter: ThreadWaiter,
        full_disks: FullDisks,
        doubted_clock: DoubtedClock,
        *,
        broker_id: int,
        broker_epoch: Callable[[], int],
        directory_failed: Callable[[UUID], None],
        placed: Callable[[], None],
        resend_registration: Callable[[], None],
        current: Callable[[int], None],
        lag_ms: int,
    ) -> None:
        """Create the thread. The source wakes the waiter; `placed` is called with replicas in new places.

        `resend_registration` is called where the controller has not kept all of the registration, and would by now.
        `current` is called with the time as of which the metadata is applied, by the monotonic clock.
        """
        super().__init__("broker-metadata")
        self.applied_offset: int = -1
        """The highest offset of the metadata that the replicas stand at."""
        self.image: ClusterImage = ClusterImage()
        """What they stand at."""
        self._applied: Final = Condition()
        self._source: Final = source
        self._replicas: Final = replicas
        self._waiter: Final = waiter
        self._full_disks: Final = full_disks
        self._doubted_clock: Final = doubted_clock
        self._broker_id: Final = broker_id
        self._broker_epoch: Final = broker_epoch
        self._directory_failed: Final = directory_failed
        self._placed: Final = placed
        self._resend_registration: Final = resend_registration
        self._current: Final = current
        self._metadata: Final = OwnMetadata(broker_id)
        self._failed: frozenset[UUID] = frozenset()
        self._unfence: Callable[[], object] | None = None
        """Until it was called."""
        self._lag_check_ms: Final = max(1, lag_ms // _LAG_CHECKS)
        self._check_lag_at = monotonic_ms() + self._lag_check_ms

    def begin(self, seconds: float) -> bool:
        """Assign the first roles before it is started; return whether they were there within so many seconds.

        Raises what keeps the metadata from being followed.
        """
        deadline = Deadline(seconds)
        while self.applied_offset < 0:
            self._catch_up()
            if self.failure is not None:
                raise self.failure
            if self.applied_offset < 0 and not self._waiter.wait(deadline.left()):
                return False
        return True

    def unfence_by(self, unfence: Callable[[], object]) -> None:
        """Call this, once, as soon as no replica is withheld: until then the controller must not elect this broker."""
        self._unfence = unfence
        self._waiter.wake()

    def wait_for_role(self, broker_id: int, seconds: float) -> bool:
        """Return whether the replicas stand, within so many seconds, where the broker is not fenced any more."""
        return self.wait_until(lambda: self.stopped or self._is_active(broker_id), seconds)

    def wait_until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Return whether something holds within so many seconds, looked at whenever metadata was applied."""
        with self._applied:
            return self._applied.wait_for(holds, seconds)

    def _is_active(self, broker_id: int) -> bool:
        broker = self.image.brokers.get(broker_id)
        return broker is not None and not broker.fenced

    def _round(self) -> None:
        try:
            self._catch_up()
        except FetchersClosedError:  # the broker ends in the middle of it
            self.stop(wait=False)
        if self.stopped:  # another process may have the broker's place: nothing may be led again
            return
        if monotonic_ms() >= self._check_lag_at:
            self._check_lag_at = monotonic_ms() + self._lag_check_ms
            self._replicas.check_lag()
        self._replicas.move_on()
        self._replicas.retry()
        self._replicas.take_answers()
        self._unfence_if_whole()
        self._tell_places()
        failed = self._replicas.notice_failures()
        for directory_id in failed - self._failed:
            self._directory_failed(directory_id)
        self._failed = failed
        self._full_disks.look()
        self._doubted_clock.look()
        self._waiter.wait(min(_LONGEST_WAIT_MS, max(0, self._check_lag_at - monotonic_ms())) / 1_000)

    def _unfence_if_whole(self) -> None:
        unfence = self._unfence
        if unfence is not None and not self._replicas.are_withheld:
            self._unfence = None
            unfence()

    def _catch_up(self) -> None:
        news = self._source.take()
        if news is None:
            if not self._metadata.is_held_back:
                self._current(self._source.as_of_ms)
            return
        try:
            admitted = self._metadata.admitted(news, self._broker_epoch())
        except BrokerStoppedError as error:
            self._replicas.close()
            self._give_up(error)
            return
        if admitted is None:
            return
        self._replicas.apply(admitted.image, admitted.changes)
        if self._can_have_directories(admitted.image):
            self._resend_registration()
        with self._applied:
            self.image = admitted.image
            self.applied_offset = admitted.applied_offset
            self._applied.notify_all()
        self._current(self._source.as_of_ms)
        self._tell_places()

    def _can_have_directories(self, image: ClusterImage) -> bool:
        """Whether they are not in the metadata, but may be from now on (Kafka: BrokerRegistrationTracker)."""
        since = MetadataVersion.V3_7_IV2
        broker = image.brokers.get(self._broker_id)
        is_new = self.image.metadata_version < since <= image.metadata_version
        return is_new and broker is not None and not broker.directories

    def _tell_places(self) -> None:
        if self._replicas.unassigned:
            self._placed()

    def _wake(self) -> None:
        self._waiter.wake()
