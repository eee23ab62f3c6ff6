"""Requests of members: JoinGroup, SyncGroup, Heartbeat and LeaveGroup."""

from typing import Any, Final, TypeVar

from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import PermissionsOf, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.groups.awaited import Awaited
from replication.cluster.broker.groups.coordinator import GroupCoordinator
from replication.cluster.broker.groups.errors import GroupRefusedError
from replication.cluster.broker.groups.joining import JoinAnswer, JoinRequest
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.broker.groups.requests.waiting import Waiting
from replication.cluster.broker.groups.syncing import SyncAnswer, SyncRequest
from replication.wire.error_code import ErrorCode
from replication.wire.server.call import Call
from replication.wire.server.pending import Pending

JOIN_GROUP: Final = 11
HEARTBEAT: Final = 12
LEAVE_GROUP: Final = 13
SYNC_GROUP: Final = 14

_ASKS_FOR_ID: Final = 4
_CAN_SKIP_ASSIGNMENT: Final = 9
_NAMES_PROTOCOL: Final = 5
"""The first version of SyncGroup that has to."""
_LEAVES_TOGETHER: Final = 3

T = TypeVar("T")


class MemberRequests:
    """Answers them in kio's terms."""

    def __init__(self, coordinator: GroupCoordinator, permissions: PermissionsOf = unlimited) -> None:
        """Pass them on to a coordinator, from callers who may read as the group."""
        self._coordinator = coordinator
        self._permissions = permissions

    def join(self, request: Any, call: Call) -> Any | Pending:
        """Answer JoinGroup, once the members have joined."""

        def written(answer: JoinAnswer) -> Any:
            members = [each._asdict() for each in answer.members]
            return kio_answer(JOIN_GROUP, call.version, answer._asdict() | {"members": members})

        if self._is_denied(request, call):
            return written(JoinAnswer(ErrorCode.GROUP_AUTHORIZATION_FAILED, member_id=""))
        session_timeout = request.session_timeout.total_seconds()
        # Version 0 has one timeout for both.
        rebalance_timeout = max(getattr(request, "rebalance_timeout", request.session_timeout).total_seconds(), 0)
        asked = JoinRequest(
            request.group_id,
            request.member_id,
            session_timeout,
            rebalance_timeout,
            request.protocol_type,
            tuple((each.name, each.metadata) for each in request.protocols),
            getattr(request, "group_instance_id", None),
            call.client_id or "",
            f"/{call.caller.address}",
            asks_for_id=call.version >= _ASKS_FOR_ID,
            can_skip_assignment=call.version >= _CAN_SKIP_ASSIGNMENT,
        )
        return self._awaited(asked.group_id, self._coordinator.join(asked), written)

    def sync(self, request: Any, call: Call) -> Any | Pending:
        """Answer SyncGroup, once the leader has assigned."""

        def written(answer: SyncAnswer) -> Any:
            return kio_answer(SYNC_GROUP, call.version, answer._asdict())

        if self._is_denied(request, call):
            return written(SyncAnswer(ErrorCode.GROUP_AUTHORIZATION_FAILED))
        asked = SyncRequest(
            request.group_id,
            request.generation_id,
            request.member_id,
            getattr(request, "group_instance_id", None),
            getattr(request, "protocol_type", None),
            getattr(request, "protocol_name", None),
            {each.member_id: each.assignment for each in request.assignments},
        )
        if call.version >= _NAMES_PROTOCOL and None in {asked.protocol_type, asked.protocol_name}:
            return written(SyncAnswer(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        return self._awaited(asked.group_id, self._coordinator.sync(asked), written)

    def heartbeat(self, request: Any, call: Call) -> Any:
        """Answer Heartbeat."""
        if self._is_denied(request, call):
            return kio_answer(HEARTBEAT, call.version, {"error_code": ErrorCode.GROUP_AUTHORIZATION_FAILED})
        instance_id = getattr(request, "group_instance_id", None)
        error = self._coordinator.heartbeat(request.group_id, request.generation_id, request.member_id, instance_id)
        return kio_answer(HEARTBEAT, call.version, {"error_code": error})

    def leave(self, request: Any, call: Call) -> Any:
        """Answer LeaveGroup, which names one member or, in later versions, several."""
        if self._is_denied(request, call):
            denied = {"error_code": ErrorCode.GROUP_AUTHORIZATION_FAILED, "members": ()}
            return kio_answer(LEAVE_GROUP, call.version, denied)
        together = call.version >= _LEAVES_TOGETHER
        leaving: list[tuple[str, str | None]] = (
            [(each.member_id, each.group_instance_id) for each in request.members]
            if together
            else [(request.member_id, None)]
        )
        try:
            errors = self._coordinator.leave(request.group_id, leaving)
        except GroupRefusedError as refused:
            return kio_answer(LEAVE_GROUP, call.version, {"error_code": refused.code, "members": ()})
        members = [
            {"member_id": member_id, "group_instance_id": instance_id, "error_code": error}
            for (member_id, instance_id), error in zip(leaving, errors, strict=True)
        ]
        error = ErrorCode.NONE if together else errors[0]
        return kio_answer(LEAVE_GROUP, call.version, {"error_code": error, "members": members})

    def _is_denied(self, request: Any, call: Call) -> bool:
        return not self._permissions(call.caller).may(Operation.READ, ResourceType.GROUP, request.group_id)

    def _awaited(self, group_id: str, awaited: Awaited[T], written: Any) -> Any | Pending:
        waiting = Waiting(self._coordinator, group_id, awaited, written)
        return waiting if awaited.value is None else waiting.answer()
