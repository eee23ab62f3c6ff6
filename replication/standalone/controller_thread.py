"""The thread that lets a controller do what is due without being asked."""

from typing import ClassVar, Final

from replication.standalone.errors import ControllerFailedError
from replication.standalone.static_controller import StaticController
from replication.worker_thread import WorkerThread

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
