"""What a broker answers, as long as it is not paused and those who ask reach it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from replication.protocol.messages import fetch, list_offsets, offset_for_leader_epoch
from replication.server.call import Call
from replication.server.hang_up import HangUpError
from replication.server.served_api import ServedApi, ServedApis
from replication.testing.links import Links

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
