"""What a controller does without being asked."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import ClassVar, Final

from replication.cluster.standalone.controller_snapshot_thread import ControllerSnapshotThread
from replication.cluster.standalone.errors import ControllerFailedError
from replication.cluster.standalone.static_controller import StaticController
from replication.cluster.worker_thread import WorkerThread

_INTERVAL_SECONDS: Final = 0.25


class ControllerThread(WorkerThread):
    """Fences brokers that are silent, and balances leaders."""

    PASSING: ClassVar[tuple[type[Exception], ...]] = ()

    def __init__(self, controller: StaticController) -> None:
        """Look after this controller."""
        super().__init__("controller")
        self._controller: Final = controller

    def _give_up(self, error: BaseException) -> None:
        self._controller.fail(error)
        super()._give_up(error)

    def _round(self) -> None:
        try:
            self._controller.tick()
        except ControllerFailedError:
            self.stop(wait=False)
            return
        self._stopped.wait(_INTERVAL_SECONDS)


@contextmanager
def at_work(controller: StaticController) -> Iterator[None]:
    """Run a controller's fencing, balancing and snapshots, which nothing waits for. Raises ResourceLimitError."""
    with ExitStack() as stack:
        for thread in (ControllerThread(controller), ControllerSnapshotThread(controller)):
            stack.callback(thread.stop)
            thread.start()
        yield
