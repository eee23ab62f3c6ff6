"""The controller, as a broker reaches it by a link that may be cut."""

from collections.abc import Callable
from typing import Final, TypeVar

from logstore.log.state.waiters import Waiter
from replication.controller.controller import Controller
from replication.controller.decision import Decision
from replication.standalone.errors import ControllerUnreachableError
from replication.standalone.metadata_feed import MetadataFeed, MetadataNews
from replication.standalone.static_controller import StaticController
from replication.testing.links import CONTROLLER, Links

T = TypeVar("T")


class LinkedController:
    """Asks a controller, and hears of it, as long as the link is whole."""

    def __init__(self, controller: StaticController, broker_id: int, links: Links) -> None:
        """Reach a controller as one of the brokers."""
        self._controller: Final = controller
        self._broker_id: Final = broker_id
        self._links: Final = links

    def decide(self, make: Callable[[Controller], Decision[T]]) -> T:
        """Ask the controller. Raises ControllerUnreachableError while the link is cut, before or after it decided."""
        self._ensure_reached()
        answer = self._controller.decide(make)
        self._ensure_reached()
        return answer

    def end_session(self, broker_id: int) -> None:
        """Let a broker register anew at once."""
        self._controller.end_session(broker_id)

    def feed(self, waiter: Waiter) -> MetadataFeed:
        """Return what tells of all changes, once the link is whole."""
        return _LinkedFeed(self._controller.feed(waiter), lambda: self._links.is_cut(self._broker_id, CONTROLLER))

    def drop(self, feed: MetadataFeed) -> None:
        """Hear no more."""
        if isinstance(feed, _LinkedFeed):
            self._controller.drop(feed.behind)

    def _ensure_reached(self) -> None:
        if not self._links.pass_on(self._broker_id, CONTROLLER):
            raise ControllerUnreachableError(f"broker {self._broker_id} is cut off from its controller")


class _LinkedFeed(MetadataFeed):
    """Gives nothing while the link is cut."""

    def __init__(self, behind: MetadataFeed, is_cut: Callable[[], bool]) -> None:
        self.behind: Final = behind
        self._is_cut: Final = is_cut

    def take(self) -> MetadataNews | None:
        return None if self._is_cut() else self.behind.take()
