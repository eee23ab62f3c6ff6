"""The thread that writes a controller's metadata as a whole, so that its log does not grow for ever."""

import logging
from typing import ClassVar, Final

from logstore import LogStoreError
from replication.base.clock import monotonic_ms
from replication.cluster.standalone.static_controller import StaticController
from replication.cluster.worker_thread import WorkerThread
from replication.records.metadata.errors import MetadataError

_log: Final = logging.getLogger(__name__)
_INTERVAL_SECONDS: Final = 0.25
_RETRY_MS: Final = 60_000


class ControllerSnapshotThread(WorkerThread):
    """Takes snapshots that are due; the controller decides on meanwhile (Kafka: SnapshotGenerator)."""

    PASSING: ClassVar[tuple[type[Exception], ...]] = ()

    def __init__(self, controller: StaticController) -> None:
        """Look after this controller."""
        super().__init__("controller-snapshots")
        self._controller: Final = controller
        self._snapshot_at = 0
        """Before that none is tried."""

    def _give_up(self, error: BaseException) -> None:
        self._controller.fail(error)
        super()._give_up(error)

    def _round(self) -> None:
        if self._controller.failure is not None:
            self.stop(wait=False)
            return
        if monotonic_ms() >= self._snapshot_at:
            self._take_snapshot()
        self._stopped.wait(_INTERVAL_SECONDS)

    def _take_snapshot(self) -> None:
        try:
            self._controller.take_due_snapshot()
        except (MetadataError, LogStoreError, OSError) as error:
            self._snapshot_at = monotonic_ms() + _RETRY_MS
            _log.error("no snapshot of the metadata could be taken, and its log keeps growing: %s", error)
