"""What a broker of a simulated cluster asks its controller by the way: what `AskingThread` does, event by event."""

from typing import Any, Final

from replication.cluster.node.asking.controller_requests import ControllerRequests
from replication.testing.simulated.process import Alarm, Process
from replication.testing.simulated.simulated_channel import SimulatedChannel

_UNANSWERED_MS: Final = 50


class SimulatedAsking:
    """One request at a time; the next once the one before cannot arrive any more. It is the requests' waiter."""

    def __init__(self, process: Process, channel: SimulatedChannel, broker_epoch: int) -> None:
        """Ask nothing yet. `channel` must not let anything arrive that it has given up."""
        self._channel: Final = channel
        self._broker_epoch: Final = broker_epoch
        self._requests: ControllerRequests[Any] | None = None
        self._is_asking = False
        self._alarm: Final = Alarm(process, self._send)

    def begin(self, requests: ControllerRequests[Any]) -> None:
        """Ask for what there is to ask, each time that it is woken."""
        self._requests = requests

    def wake(self) -> None:
        """Ask now, or once the request before is answered."""
        self._alarm.set_in(0)

    def _send(self) -> None:
        requests = self._requests
        if self._is_asking or requests is None:
            return
        request = requests.next(self._broker_epoch)
        if request is not None:
            self._is_asking = True
            self._channel.ask(request, self._answered, self._failed)

    def _answered(self, answer: Any) -> None:
        assert self._requests is not None  # noqa: S101  by which it was asked
        self._is_asking = False
        if self._requests.answered(answer, may_arrive_late=False):
            self._send()
        else:
            self._alarm.set_in(self._requests.again_ms)

    def _failed(self, reason: str) -> None:
        assert self._requests is not None  # noqa: S101  as above
        self._is_asking = False
        self._requests.failed(reason)
        self._alarm.set_in(_UNANSWERED_MS)
