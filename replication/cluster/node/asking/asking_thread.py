"""A thread that asks the controller for one kind of thing: nothing else waits for its answers."""

from collections.abc import Callable
from typing import Any, ClassVar, Final

from logstore.log.state.waiters import ThreadWaiter
from replication.cluster.broker.lifecycle.controller_channel import Channel
from replication.cluster.broker.lifecycle.errors import NoControllerError
from replication.cluster.node.asking.controller_requests import ControllerRequests
from replication.cluster.node.controller_link import asked
from replication.cluster.worker_thread import WorkerThread
from replication.wire.messages.request import Request


class AskingThread(WorkerThread):
    """Asks for what there is to ask, each time that it is woken, and again for what was not granted."""

    PASSING: ClassVar[tuple[type[Exception], ...]] = (NoControllerError,)

    def __init__(
        self,
        name: str,
        channel: Channel,
        requests: ControllerRequests[Any],
        waiter: ThreadWaiter,
        broker_epoch: Callable[[], int],
    ) -> None:
        """Own the channel. The waiter is woken when there is something to ask."""
        super().__init__(name)
        self._channel: Final = channel
        self._requests: Final = requests
        self._waiter: Final = waiter
        self._broker_epoch: Final = broker_epoch

    def _round(self) -> None:
        request = self._requests.next(self._broker_epoch())
        if request is None:
            self._waiter.wait()
        elif not self._is_settled(request):
            self._stopped.wait(self._requests.again_ms / 1_000)

    def _is_settled(self, request: Request[Any]) -> bool:
        """Ask; return whether nothing of it is to be asked again."""
        try:
            answer = asked(self._channel, request)
        except NoControllerError as error:
            if not self.stopped:  # by hanging up
                self._requests.failed(str(error))
            raise
        self._back_off.succeeded()
        return self._requests.answered(answer, may_arrive_late=self._channel.may_arrive_late)

    def _wake(self) -> None:
        self._channel.close()
        self._waiter.wake()
