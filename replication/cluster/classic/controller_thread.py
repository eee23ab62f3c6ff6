"""The thread that does what a controller of the ZooKeeper era does by itself."""

from typing import ClassVar, Final

from replication.base.clock import monotonic_ms
from replication.cluster.classic import controller_events
from replication.cluster.classic.guarded_controller import GuardedController
from replication.cluster.controller.classic.errors import CoordinationError, TakeOverError
from replication.cluster.worker_thread import WorkerThread


class ClassicControllerThread(WorkerThread):
    """Stands for election, and handles what the coordination store gives notice of."""

    PASSING: ClassVar[tuple[type[Exception], ...]] = (CoordinationError,)
    """A controller that cannot begin its term gives up: it would be elected in vain, again and again."""

    def __init__(self, controller: GuardedController) -> None:
        """Drive this controller."""
        super().__init__("classic-controller")
        self._controller: Final = controller
        self._is_standing = False

    def _round(self) -> None:
        try:
            self._work()
        except TakeOverError as error:
            self._give_up(error)

    def _work(self) -> None:
        if not self._is_standing:
            self._controller.start()
            self._is_standing = True
        self._controller.woken.clear()
        wake_at = self._controller.process()
        self._back_off.succeeded()
        if not self.stopped:
            self._controller.woken.wait(None if wake_at is None else max(0, wake_at - monotonic_ms()) / 1_000)

    def _lost(self, error: Exception) -> None:
        controller_events.log_trouble(error)
        self._controller.woken.set()
        super()._lost(error)

    def _wake(self) -> None:
        self._controller.woken.set()
