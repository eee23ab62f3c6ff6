"""What joins a broker to its controller, as long as the link between the two is whole."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from logstore.log.state.waiters import Waiter
from replication.cluster.broker.lifecycle.controller_channel import AnswerT, Channel
from replication.cluster.broker.lifecycle.errors import NoControllerError
from replication.cluster.node.controller_link import ControllerLink, MetadataSource
from replication.cluster.node.metadata_feed import MetadataNews
from replication.cluster.quorum.quorum_standing import QuorumStanding
from replication.testing.links import CONTROLLER, Links
from replication.wire.addresses import Address
from replication.wire.messages.request import Request
from replication.wire.server.call import Call
from replication.wire.server.served_api import ServedApi, ServedApis


class LinkedController:
    """Asks a controller, and hears of it, unless its broker is cut off (see `replication.node.ControllerLink`)."""

    def __init__(self, behind: ControllerLink, broker_id: int, links: Links) -> None:
        """Reach a controller as one of the brokers."""
        self._behind: Final = behind
        self._broker_id: Final = broker_id
        self._links: Final = links

    @property
    def is_remote(self) -> bool:
        """As without cuts."""
        return self._behind.is_remote

    def begin(self, broker_id: int) -> None:
        """Allow a broker to register at once."""
        self._behind.begin(broker_id)

    def channel(self) -> Channel:
        """Return what asks while the link is whole."""
        return _LinkedChannel(self._behind.channel(), self._ensure_reached)

    def metadata(self, waiter: Waiter) -> MetadataSource:
        """Return what reports all changes, once the link is whole."""
        behind = self._behind.metadata(waiter)
        return _LinkedSource(behind, lambda: self._links.is_cut(self._broker_id, CONTROLLER))

    def standing(self) -> QuorumStanding | None:
        """Return where it stands, cut off or not."""
        return self._behind.standing()

    def administration(self, node_id: int) -> ServedApis:
        """Return how administrators are answered while the link is whole."""
        apis = self._behind.administration(node_id)
        return {key: replace(api, answer=self._linked(api)) for key, api in apis.items()}

    def close(self) -> None:
        """End it."""
        self._behind.close()

    def _linked(self, api: ServedApi) -> Callable[[Any, Call], Any]:
        def answer(request: Any, call: Call) -> Any:
            self._ensure_reached()
            told = api.answer(request, call)
            self._ensure_reached()
            return told

        return answer

    def _ensure_reached(self) -> None:
        if not self._links.pass_on(self._broker_id, CONTROLLER):
            raise NoControllerError(f"broker {self._broker_id} is cut off from its controller")


class _LinkedChannel:
    """Loses what is asked, or the answer, where the link is cut before or after the controller has decided."""

    def __init__(self, behind: Channel, ensure_reached: Callable[[], None]) -> None:
        self._behind: Final = behind
        self._ensure_reached: Final = ensure_reached

    @property
    def address(self) -> Address | None:
        return self._behind.address

    @property
    def may_arrive_late(self) -> bool:
        # Nothing more of this link's own: what it loses has either not been passed on, or been decided.
        return self._behind.may_arrive_late

    def ask(self, request: Request[AnswerT], timeout_ms: int | None = None) -> AnswerT:
        self._ensure_reached()
        answer = self._behind.ask(request, timeout_ms)
        self._ensure_reached()
        return answer

    def close(self) -> None:
        self._behind.close()


class _LinkedSource:
    """Gives nothing while the link is cut."""

    def __init__(self, behind: MetadataSource, is_cut: Callable[[], bool]) -> None:
        self._behind: Final = behind
        self._is_cut: Final = is_cut

    @property
    def as_of_ms(self) -> int:
        return self._behind.as_of_ms

    def take(self) -> MetadataNews | None:
        return None if self._is_cut() else self._behind.take()

    def close(self) -> None:
        self._behind.close()
