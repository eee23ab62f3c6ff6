"""A broker that its links keep from those who ask it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from logstore.directory.log_directories import LogDirectories
from replication.cluster.node.broker_node import BrokerNode
from replication.cluster.node.broker_node_settings import BrokerNodeSettings
from replication.testing.linked_controller import LinkedController
from replication.testing.links import Links
from replication.wire.messages import fetch, list_offsets, offset_for_leader_epoch
from replication.wire.server.call import Call
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.served_api import ServedApi, ServedApis

_ASKED_BY_REPLICAS: Final = frozenset({fetch.API_KEY, list_offsets.API_KEY, offset_for_leader_epoch.API_KEY})


def linked_apis(apis: ServedApis, broker_id: int, links: Links) -> ServedApis:
    """Return APIs that hang up on brokers that are cut off, and wait while their own is paused."""
    return {key: replace(api, answer=_linked(key, api, broker_id, links)) for key, api in apis.items()}


def _linked(key: int, api: ServedApi, broker_id: int, links: Links) -> Callable[[Any, Call], Any]:
    def answer(request: Any, call: Call) -> Any:
        links.wait_while_paused(broker_id)
        asker = request.replica_id if key in _ASKED_BY_REPLICAS else -1
        if asker >= 0 and not links.pass_on(asker, broker_id):
            raise HangUpError("cut", f"broker {asker} is cut off from broker {broker_id}")
        return api.answer(request, call)

    return answer


class LinkedBroker(BrokerNode):
    """Hangs up on brokers that are cut off from it, and answers nobody while it is paused."""

    def __init__(
        self,
        broker_id: int,
        links: Links,
        controller: LinkedController,
        directories: LogDirectories,
        settings: BrokerNodeSettings,
    ) -> None:
        """Start as `BrokerNode` does."""
        self._broker_id: Final = broker_id
        self._links: Final = links
        super().__init__(controller, directories, settings)

    def _served(self, apis: ServedApis) -> ServedApis:
        return linked_apis(apis, self._broker_id, self._links)
