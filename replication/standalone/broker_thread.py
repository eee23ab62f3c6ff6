"""The thread that keeps a broker in step with a controller of the same process."""

from collections.abc import Callable
from contextlib import suppress
from threading import Condition
from typing import Final
from uuid import UUID

from logstore.log.state.waiters import ThreadWaiter
from replication.broker.replicas.replica_manager import ReplicaManager
from replication.clock import monotonic_ms
from replication.controller.refusal import Refusal
from replication.metadata.image import ClusterImage
from replication.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, PlacedReplica
from replication.standalone.errors import ControllerUnreachableError
from replication.standalone.isr_queue import IsrQueue
from replication.standalone.metadata_feed import MetadataFeed
from replication.standalone.reached_controller import ReachedController
from replication.worker_thread import WorkerThread

_LAG_CHECKS: Final = 2
"""In the time after which a follower counts as behind (Kafka: isr-expiration runs so often)."""

_LONGEST_WAIT_MS: Final = 500
"""Nobody wakes it for a disk that fails."""


class BrokerThread(WorkerThread):
    """Applies metadata, asks for ISRs, and looks for followers that lag and for disks that have failed."""

    PASSING = (ControllerUnreachableError,)

    def __init__(
        self,
        controller: ReachedController,
        feed: MetadataFeed,
        replicas: ReplicaManager,
        isr_queue: IsrQueue,
        waiter: ThreadWaiter,
        *,
        broker_id: int,
        broker_epoch: Callable[[], int],
        directory_failed: Callable[[UUID], None],
        lag_ms: int,
    ) -> None:
        """Take over all that it is given. The waiter is woken by the controller and by what is queued."""
        super().__init__("broker-metadata")
        self.applied_offset: int = -1
        """The highest offset of the metadata that the replicas stand at."""
        self.image: ClusterImage = ClusterImage()
        """What they stand at."""
        self._applied: Final = Condition()
        self.failure: BaseException | None = None
        """What has ended it."""
        self._controller: Final = controller
        self._feed: Final = feed
        self._replicas: Final = replicas
        self._isr_queue: Final = isr_queue
        self._waiter: Final = waiter
        self._broker_id: Final = broker_id
        self._broker_epoch: Final = broker_epoch
        self._directory_failed: Final = directory_failed
        self._failed: frozenset[UUID] = frozenset()
        self._lag_check_ms: Final = max(1, lag_ms // _LAG_CHECKS)
        self._check_lag_at = monotonic_ms() + self._lag_check_ms

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
        self.catch_up()
        self._back_off.succeeded()
        self._waiter.wait(min(_LONGEST_WAIT_MS, max(0, self._check_lag_at - monotonic_ms())) / 1_000)

    def catch_up(self) -> None:
        """Do all that is due by now."""
        news = self._feed.take()
        if news is not None:
            self._replicas.apply(news.image, news.changes)
            with self._applied:
                self.image = news.image
                self.applied_offset = news.applied_offset
                self._applied.notify_all()
        if monotonic_ms() >= self._check_lag_at:
            self._check_lag_at = monotonic_ms() + self._lag_check_ms
            self._replicas.check_lag()
        failed = self._replicas.notice_failures()
        for directory_id in failed - self._failed:
            self._directory_failed(directory_id)
        self._failed = failed
        self._assign_directories()
        self._isr_queue.settle(self._controller, self._broker_epoch(), self._replicas.led)

    def _assign_directories(self) -> None:
        """Let the metadata say in which directories new replicas lie, so that a disk that is missing is noticed."""
        unassigned = self._replicas.unassigned
        if not unassigned:
            return
        request = AssignReplicasToDirsRequest(
            broker_id=self._broker_id,
            broker_epoch=self._broker_epoch(),
            replicas=tuple(PlacedReplica(directory, *each) for each, directory in unassigned.items()),
        )
        with suppress(Refusal):
            self._controller.decide(lambda deciding: deciding.assign_directories(request))
        unassigned.clear()

    def _give_up(self, error: BaseException) -> None:
        self.failure = error
        super()._give_up(error)

    def _wake(self) -> None:
        self._waiter.wake()
