"""What joins a broker to a controller of its own process."""

from collections.abc import Callable
from typing import Final

from logstore.log.state.waiters import Waiter
from replication.base.clock import monotonic_ms
from replication.cluster.broker.lifecycle.controller_channel import AnswerT
from replication.cluster.broker.lifecycle.errors import NoControllerError
from replication.cluster.node.metadata_feed import MetadataFeed
from replication.cluster.standalone.errors import ControllerFailedError
from replication.cluster.standalone.requests.administration_apis import administration_apis
from replication.cluster.standalone.requests.broker_requests import BrokerRequests
from replication.cluster.standalone.static_controller import StaticController
from replication.wire.messages.request import Request
from replication.wire.server.served_api import ServedApis


class LocalChannel:
    """Asks by calling: there is no address, and no answer is late."""

    address: Final = None
    may_arrive_late: Final = False

    def __init__(self, controller: StaticController, clock: Callable[[], int] = monotonic_ms) -> None:
        """Ask this controller."""
        self._requests: Final = BrokerRequests(controller, clock)
        self._is_closed = False

    def ask(self, request: Request[AnswerT], timeout_ms: int | None = None) -> AnswerT:
        """Return the controller's answer. Raises NoControllerError once it failed."""
        del timeout_ms
        if self._is_closed:
            raise NoControllerError("the channel was closed")
        try:
            return self._requests.answer(request)
        except ControllerFailedError as error:
            raise NoControllerError(str(error)) from error

    def close(self) -> None:
        """Ask nothing more."""
        self._is_closed = True


class LocalLink:
    """Reaches the controller by calls (see `replication.node.ControllerLink`)."""

    def __init__(self, controller: StaticController) -> None:
        """Reach this controller, which stays the caller's."""
        self._controller: Final = controller

    @property
    def is_remote(self) -> bool:
        """False: the controller is in this process."""
        return False

    def begin(self, broker_id: int) -> None:
        """Allow the broker to register at once: the holder of its directories knows that its earlier start is over."""
        self._controller.end_session(broker_id)

    def channel(self) -> LocalChannel:
        """Return what one thread asks by."""
        return LocalChannel(self._controller)

    def metadata(self, waiter: Waiter) -> MetadataFeed:
        """Return the feed of all changes."""
        return self._controller.feed(waiter)

    def standing(self) -> None:
        """Return None: the controller has no quorum here."""

    def administration(self, node_id: int) -> ServedApis:
        """Return how administrators are answered, which is by the controller itself."""
        return administration_apis(self._controller, node_id=node_id)

    def close(self) -> None:
        """Do nothing: there is no connection."""
