"""What joins a broker to a controller of its own process."""

from typing import Final

from logstore.log.state.waiters import Waiter
from replication.node.metadata_feed import MetadataFeed
from replication.server.served_api import ServedApis
from replication.standalone.local_channel import LocalChannel
from replication.standalone.requests.administration_apis import administration_apis
from replication.standalone.static_controller import StaticController


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
        """Let the broker register at once: who holds its directories knows that its earlier start is over."""
        self._controller.end_session(broker_id)

    def channel(self) -> LocalChannel:
        """Return what one thread asks by."""
        return LocalChannel(self._controller)

    def metadata(self, waiter: Waiter) -> MetadataFeed:
        """Return what tells of all changes."""
        return self._controller.feed(waiter)

    def standing(self) -> None:
        """Return None: the controller has no quorum here."""

    def administration(self, node_id: int) -> ServedApis:
        """Return how administrators are answered, which is by the controller itself."""
        return administration_apis(self._controller, node_id=node_id)

    def close(self) -> None:
        """Do nothing: there is no connection."""
