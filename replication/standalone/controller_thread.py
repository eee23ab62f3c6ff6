"""The thread that lets a controller do what is due without being asked."""

import logging
from typing import ClassVar, Final

from logstore import LogStoreError
from replication.clock import monotonic_ms
from replication.metadata.errors import MetadataError
from replication.standalone.errors import ControllerFailedError
from replication.standalone.static_controller import StaticController
from replication.worker_thread import WorkerThread

_log: Final = logging.getLogger(__name__)
_INTERVAL_SECONDS: Final = 0.25
_RETRY_MS: Final = 60_000


class ControllerThread(WorkerThread):
    """Fences brokers that are silent, balances leaders, and takes snapshots of the metadata."""

    PASSING: ClassVar[tuple[type[Exception], ...]] = ()

    def __init__(self, controller: StaticController) -> None:
        """Look after this controller."""
        super().__init__("controller")
        self._controller: Final = controller
        self._snapshot_at = 0
        """Before that none is tried."""

    def _give_up(self, error: BaseException) -> None:
        self._controller.fail(error)
        super()._give_up(error)

    def _round(self) -> None:
        try:
            self._controller.tick()
            self._take_snapshot()
        except ControllerFailedError:
            self.stop(wait=False)
            return
        self._stopped.wait(_INTERVAL_SECONDS)

    def _take_snapshot(self) -> None:
        if monotonic_ms() < self._snapshot_at:
            return
        try:
            self._controller.take_due_snapshot()
        except (MetadataError, LogStoreError, OSError) as error:
            self._snapshot_at = monotonic_ms() + _RETRY_MS
            _log.error("no snapshot of the metadata could be taken, which goes on growing: %s", error)
