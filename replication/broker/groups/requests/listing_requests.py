"""Requests about groups: FindCoordinator, ListGroups and DescribeGroups."""

from collections.abc import Callable
from typing import Any, Final

from replication.broker.groups.coordinator import GroupCoordinator
from replication.broker.groups.group_state import GroupState
from replication.broker.groups.requests.kio_answer import kio_answer
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.field_types import OPERATIONS_NOT_ASKED
from replication.protocol.messages.topic_ids import Endpoint
from replication.server.call import Call

FIND_COORDINATOR: Final = 10
DESCRIBE_GROUPS: Final = 15
LIST_GROUPS: Final = 16

FindEndpoint = Callable[[str, Call], Endpoint | None]
"""Returns where a group's coordinator listens for a caller, None where nowhere."""

_FINDS_SEVERAL: Final = 4
_HAS_TYPES: Final = 1
_TELLS_UNKNOWN: Final = 6
_GROUP: Final = 0
_TRANSACTION: Final = 1
_NOWHERE: Final = Endpoint(-1, "", -1)
_CLASSIC: Final = "classic"
_OPERATIONS_OF_GROUPS: Final = 0b1101_0100_1000
"""Read, delete, describe, and describe and alter configurations, one bit each (Kafka: AclOperation)."""


class ListingRequests:
    """Answers them in kio's terms."""

    def __init__(self, coordinator: GroupCoordinator, endpoint: FindEndpoint) -> None:
        """Tell of a coordinator, and where it is."""
        self._coordinator = coordinator
        self._endpoint = endpoint

    def find(self, request: Any, call: Call) -> Any:
        """Answer FindCoordinator; there are none of transactions."""
        key_type = request.key_type if call.version >= _HAS_TYPES else _GROUP
        if call.version < _FINDS_SEVERAL:
            return kio_answer(FIND_COORDINATOR, call.version, self._found(request.key, key_type, call))
        found = [self._found(key, key_type, call) for key in request.coordinator_keys]
        return kio_answer(FIND_COORDINATOR, call.version, {"coordinators": found})

    def list(self, request: Any, call: Call) -> Any:
        """Answer ListGroups: those in some states and of some types, or all."""
        states = {each.casefold() for each in getattr(request, "states_filter", ())}
        types = {each.casefold() for each in getattr(request, "types_filter", ())}
        groups = [
            {
                "group_id": group.group_id,
                "protocol_type": group.protocol_type,
                "group_state": group.state,
                "group_type": _CLASSIC,
            }
            for group in self._coordinator.groups()
            if (not states or group.state.casefold() in states) and (not types or _CLASSIC in types)
        ]
        return kio_answer(LIST_GROUPS, call.version, {"error_code": ErrorCode.NONE, "groups": groups})

    def describe(self, request: Any, call: Call) -> Any:
        """Answer DescribeGroups."""
        asked = getattr(request, "include_authorized_operations", False)
        operations = _OPERATIONS_OF_GROUPS if asked else OPERATIONS_NOT_ASKED
        groups = [self._described(group_id, operations, call.version) for group_id in request.groups]
        return kio_answer(DESCRIBE_GROUPS, call.version, {"groups": groups})

    def _found(self, key: str, key_type: int, call: Call) -> dict[str, Any]:
        endpoint = self._endpoint(key, call) if key_type == _GROUP else None
        if endpoint is not None:
            error, message = ErrorCode.NONE, "NONE" if call.version < _FINDS_SEVERAL else ""
        elif key_type == _GROUP:
            error, message = ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator is not available."
        elif key_type == _TRANSACTION:
            # There is none, nor will there be: clients would ask again for ever.
            error, message = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "There are no transactions here."
        else:
            error, message = ErrorCode.INVALID_REQUEST, f"There are no coordinators of type {key_type}."
        node_id, host, port, _ = endpoint or _NOWHERE
        return {
            "key": key,
            "error_code": error,
            "error_message": message,
            "node_id": node_id,
            "host": host,
            "port": port,
        }

    def _described(self, group_id: str, operations: int, version: int) -> dict[str, Any]:
        group = self._coordinator.describe(group_id)
        is_unknown = group.state is GroupState.DEAD and version >= _TELLS_UNKNOWN
        return {
            "error_code": ErrorCode.GROUP_ID_NOT_FOUND if is_unknown else ErrorCode.NONE,
            "error_message": f"Group {group_id} not found." if is_unknown else None,
            "group_id": group.group_id,
            "group_state": group.state,
            "protocol_type": group.protocol_type,
            "protocol_data": group.protocol,
            "members": [each._asdict() for each in group.members],
            "authorized_operations": OPERATIONS_NOT_ASKED if is_unknown else operations,
        }
