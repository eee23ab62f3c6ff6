"""Requests about groups: FindCoordinator, ListGroups and DescribeGroups."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import Permissions, PermissionsOf, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.groups.coordinator import GroupCoordinator
from replication.cluster.broker.groups.errors import GroupRefusedError
from replication.cluster.broker.groups.group_state import GroupState
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.wire.error_code import ErrorCode, message_of
from replication.wire.messages.field_types import OPERATIONS_NOT_ASKED
from replication.wire.messages.topic_ids import Endpoint
from replication.wire.server.call import Call

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
_DESCRIBE: Final = Operation.DESCRIBE
_DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED


class ListingRequests:
    """Answers them in kio's terms."""

    def __init__(
        self,
        coordinator: GroupCoordinator,
        endpoint: FindEndpoint,
        permissions: PermissionsOf = unlimited,
        transactions: FindEndpoint | None = None,
    ) -> None:
        """Answer for a coordinator at this endpoint; `permissions` say which groups a caller may describe.

        `transactions` finds the coordinator of a transactional id; None: there are none.
        """
        self._finders: Mapping[int, FindEndpoint | None] = {_GROUP: endpoint, _TRANSACTION: transactions}
        self._coordinator = coordinator
        self._permissions = permissions

    def find(self, request: Any, call: Call) -> Any:
        """Answer FindCoordinator."""
        key_type = request.key_type if call.version >= _HAS_TYPES else _GROUP
        if call.version < _FINDS_SEVERAL:
            return kio_answer(FIND_COORDINATOR, call.version, self._found(request.key, key_type, call))
        found = [self._found(key, key_type, call) for key in request.coordinator_keys]
        return kio_answer(FIND_COORDINATOR, call.version, {"coordinators": found})

    def list(self, request: Any, call: Call) -> Any:
        """Answer ListGroups: those in some states and of some types, or all."""
        permissions = self._permissions(call.caller)
        sees_all = permissions.may(_DESCRIBE, ResourceType.CLUSTER)
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
            if sees_all or permissions.may(_DESCRIBE, ResourceType.GROUP, group.group_id)
        ]
        return kio_answer(LIST_GROUPS, call.version, {"error_code": ErrorCode.NONE, "groups": groups})

    def describe(self, request: Any, call: Call) -> Any:
        """Answer DescribeGroups."""
        asked = getattr(request, "include_authorized_operations", False)
        permissions = self._permissions(call.caller)
        groups = []
        for group_id in dict.fromkeys(request.groups):  # each once, however often it is named
            is_permitted = permissions.may(_DESCRIBE, ResourceType.GROUP, group_id)
            told = self._told(group_id, call.version) if is_permitted else _refused(group_id, _DENIED)
            groups.append(told | {"authorized_operations": _operations(permissions, told, asked=asked)})
        return kio_answer(DESCRIBE_GROUPS, call.version, {"groups": groups})

    def _found(self, key: str, key_type: int, call: Call) -> dict[str, Any]:
        denial = _denial(self._permissions(call.caller), key, key_type)
        find = self._finders.get(key_type)
        endpoint = find(key, call) if find is not None and denial is ErrorCode.NONE else None
        error: ErrorCode
        message: str | None
        if denial is not ErrorCode.NONE:
            error, message = denial, message_of(denial) if call.version < _FINDS_SEVERAL else ""
        elif endpoint is not None:
            error, message = ErrorCode.NONE, "NONE" if call.version < _FINDS_SEVERAL else ""
        elif find is not None:
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

    def _told(self, group_id: str, version: int) -> dict[str, Any]:
        try:
            return self._described(group_id, version)
        except GroupRefusedError as refused:
            return _refused(group_id, refused.code)

    def _described(self, group_id: str, version: int) -> dict[str, Any]:
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
        }


def _denial(permissions: Permissions, key: str, key_type: int) -> ErrorCode:
    """Return why a caller may not know of a coordinator; NONE if he may."""
    if key_type == _GROUP and not permissions.may(_DESCRIBE, ResourceType.GROUP, key):
        return _DENIED
    if key_type == _TRANSACTION and not permissions.may(_DESCRIBE, ResourceType.TRANSACTIONAL_ID, key):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return ErrorCode.NONE


def _refused(group_id: str, error: ErrorCode) -> dict[str, Any]:
    return {
        "error_code": error,
        "error_message": None,
        "group_id": group_id,
        "group_state": "",
        "protocol_type": "",
        "protocol_data": "",
        "members": (),
    }


def _operations(permissions: Permissions, described: Mapping[str, Any], *, asked: bool) -> int:
    is_told = asked and described["error_code"] is ErrorCode.NONE
    return permissions.operations(ResourceType.GROUP, described["group_id"]) if is_told else OPERATIONS_NOT_ASKED
