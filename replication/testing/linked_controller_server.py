"""The controller at an address of its own, as brokers reach it by links that may be cut."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from replication.cluster.standalone.quorum.controller_server import ControllerServer
from replication.cluster.standalone.static_controller import StaticController
from replication.testing.links import CONTROLLER, Links
from replication.wire.addresses import Address
from replication.wire.messages import (
    allocate_producer_ids,
    alter_partition,
    assign_replicas_to_dirs,
    broker_heartbeat,
    broker_registration,
    fetch,
    fetch_snapshot,
)
from replication.wire.server.call import Call
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.served_api import ServedApi, ServedApis

_NODE_ID: Final = 100
_BY_BROKER_ID: Final = (broker_registration, broker_heartbeat, alter_partition, assign_replicas_to_dirs)
_ASKERS: Final[Mapping[int, str]] = MappingProxyType(
    {
        **{each.API_KEY: "broker_id" for each in (*_BY_BROKER_ID, allocate_producer_ids)},
        **{each.API_KEY: "replica_id" for each in (fetch, fetch_snapshot)},
    }
)
"""Where requests say which broker asks."""


class LinkedControllerServer(ControllerServer):
    """Hangs up on brokers that are cut off from it; that a link is slow, brokers see to themselves."""

    def __init__(self, controller: StaticController, links: Links) -> None:
        """Listen on a free port of the loopback interface, and answer."""
        self._links: Final = links
        super().__init__(controller, _NODE_ID, ListenerSettings(name="CONTROLLER", address=Address("127.0.0.1", 0)))

    def _apis(self) -> ServedApis:
        return {key: replace(api, answer=self._linked(key, api)) for key, api in super()._apis().items()}

    def _linked(self, key: int, api: ServedApi) -> Callable[[Any, Call], Any]:
        if key not in _ASKERS:
            return api.answer
        asker_in = _ASKERS[key]

        def answer(request: Any, call: Call) -> Any:
            asker = getattr(request, asker_in)
            self._ensure_reached(asker)
            answered = api.answer(request, call)
            self._ensure_reached(asker)
            return answered

        return answer

    def _ensure_reached(self, asker: int) -> None:
        if self._links.is_cut(asker, CONTROLLER):
            raise HangUpError("cut", f"broker {asker} is cut off from the controller")
